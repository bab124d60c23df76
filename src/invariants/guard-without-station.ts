import { foundOf } from '../store/invariants/found.ts';
import { listGuardsWithoutStation } from '../store/invariants/ownerless-rights.ts';
import type { InvariantRule } from './rule.ts';

export const guardWithoutStation: InvariantRule = {
  code: 'GUARD_WITHOUT_STATION',
  targetType: 'STATION_GUARD',
  title: 'A guard stands in front of a station',
  looksFor:
    'Guard rows of partner stations that no mapping or account has, and of platform stations that do not exist',
  why: 'A guard is a row lock and has no owner that could be gone; but one without a station means that work locked the wrong row, and guarded nothing',
  whatToDo: 'Find the work that named this station; report it as a fault of ours',
  find: async (reader) => foundOf(await listGuardsWithoutStation(reader)),
};
