/** The migrations in the order in which they run; a new one goes to the end. */
import { Migration20261130PushChain } from './20261130-push-chain.ts';
import { Migration20261201Payment } from './20261201-payment.ts';
import { Migration20261202ClaimsWithoutProgress } from './20261202-claims-without-progress.ts';
import { Migration20261203WideSums } from './20261203-wide-sums.ts';
import { Migration20261204SignedRequests } from './20261204-signed-requests.ts';
import { Migration20261207CompletionsAndRetention } from './20261207-completions-and-retention.ts';
import { Migration20261208EventByOrder } from './20261208-event-by-order.ts';

export const migrations = [
  Migration20261130PushChain,
  Migration20261201Payment,
  Migration20261202ClaimsWithoutProgress,
  Migration20261203WideSums,
  Migration20261204SignedRequests,
  Migration20261207CompletionsAndRetention,
  Migration20261208EventByOrder,
];
