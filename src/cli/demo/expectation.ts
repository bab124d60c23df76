/** What `examples/expected.json` says must become of the example's rows. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PlaceName } from '../../domain/place.ts';
import { EXAMPLES_FOLDER } from '../load-example.ts';

export interface RowsAndAmount {
  readonly rows: number;
  /** CNY, of the pushed rents. */
  readonly amount: string;
}

export interface RefusedRow {
  /** In request order, from 0 (DEC-16). */
  readonly index: number;
  readonly partnerStationNo: string;
  readonly billYearMonth: string;
  readonly reason: string;
}

export type Places = Readonly<Partial<Record<PlaceName, RowsAndAmount>>>;

export interface ExpectedPush {
  /** Within `examples/pushes/`. */
  readonly file: string;
  readonly orgCode: string;
  readonly partnerName: string;
  readonly paymentFlow: 'ENABLED' | 'DISABLED';
  /** `main` is a partner's file of the month; the other two meet it on the way. */
  readonly kind: 'main' | 'correction' | 'late';
  readonly title: string;
  readonly requested: RowsAndAmount;
  readonly accepted: RowsAndAmount;
  readonly refused: readonly RefusedRow[];
  /** Once nothing is under way. */
  readonly places: Places;
  /** Once the lock of `lockedMeanwhile` is released and its station's task was run again. */
  readonly placesAfterRepair: Places;
}

export interface Expectation {
  readonly pushes: readonly ExpectedPush[];
  /** The month that a payment takes between acceptance and work. */
  readonly lockedMeanwhile: {
    readonly file: string;
    readonly partnerOrgId: string;
    readonly partnerStationNo: string;
    readonly platformStationId: string;
    readonly billYearMonth: string;
  };
}

export function readExpectation(): Expectation {
  return JSON.parse(readFileSync(join(EXAMPLES_FOLDER, 'expected.json'), 'utf8'));
}
