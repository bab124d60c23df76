/** Every table, in one list, for the ORM's configuration and the schema check. */
import * as difference from './difference.ts';
import * as engine from './engine.ts';
import * as income from './income.ts';
import * as inspection from './inspection.ts';
import * as partner from './partner.ts';
import * as payment from './payment.ts';
import * as push from './push.ts';

export const entities = [
  ...Object.values(engine),
  ...Object.values(partner),
  ...Object.values(push),
  ...Object.values(income),
  ...Object.values(difference),
  ...Object.values(payment),
  ...Object.values(inspection),
];
