/** A whole Rooftally for chain tests: real HTTP, workers and scheduler on a database and a Redis prefix of their own. */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Config, readConfig } from '../../config/config.ts';
import { type Role, type Running, startRooftally } from '../../src/main.ts';
import type { Store } from '../../src/store/transaction.ts';
import { openTestStore, type TestStore } from './database.ts';
import { checkPlaces } from './recompute-places.ts';
import { assertVerified } from './verify.ts';

export const ADMIN_TOKEN = 'test-admin-token-0001';

export interface TestSystem {
  readonly store: Store;
  readonly database: TestStore;
  readonly url: string;
  /** What a process of the same system is started with. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export interface TestSystemOptions {
  readonly roles?: readonly Role[];
  /** Other servers than those that all tests run on. */
  readonly stack?: { readonly databaseUrl: string; readonly redisUrl: string };
  /** Variables of config/config.ts. */
  readonly environment?: Readonly<Record<string, string>>;
}

export async function startTestSystem(options: TestSystemOptions = {}): Promise<TestSystem> {
  const { stack } = options;
  const database = await openTestStore({}, stack === undefined ? {} : { serverUrl: stack.databaseUrl });
  const environment = {
    DATABASE_URL: database.databaseUrl,
    REDIS_URL: stack?.redisUrl ?? process.env.REDIS_URL!,
    ROOFTALLY_REDIS_PREFIX: `test-${randomBytes(6).toString('hex')}`,
    ROOFTALLY_PORT: '0',
    ROOFTALLY_LOG_LEVEL: process.env.ROOFTALLY_LOG_LEVEL ?? 'silent',
    ROOFTALLY_ADMIN_TOKEN: ADMIN_TOKEN,
    ROOFTALLY_SCAN_INTERVAL_MS: '250',
    ROOFTALLY_LEADER_LEASE_MS: '2000',
    ROOFTALLY_SLOT_LEASE_MS: '5000',
    ...options.environment,
  };
  const config: Config = readConfig(environment);
  const running: Running = await startRooftally({
    config,
    roles: options.roles ?? ['api', 'worker', 'scheduler'],
  });
  return {
    store: database.store,
    database,
    url: running.address,
    environment,
    stop: async () => {
      await running.stop();
      await database.drop();
    },
  };
}

/** A bill as a partner would write it; a test says what it is about. */
export function billOf(billYearMonth: string, fields: Readonly<Record<string, unknown>> = {}) {
  return {
    billYearMonth,
    settlementAmount: '180.00',
    rent: '120.00',
    preRent: '100.00',
    freezeAmount: '0.00',
    deductionAmount: '10.00',
    ...fields,
  };
}

export interface PushedStation {
  readonly partnerStationNo: string;
  readonly partnerStationId: string;
  readonly householdName?: string;
  readonly rentPayMethod?: string;
  readonly bills: readonly object[];
}

export interface PushReply {
  readonly status: number;
  readonly body: {
    readonly pushId: string;
    readonly code: string;
    readonly counts: { requested: number; accepted: number; refused: number };
    readonly receipts: readonly {
      index: number;
      receipt: string;
      reason?: string;
      pointer?: string;
      message?: string;
    }[];
  } & Record<string, unknown>;
}

export async function push(
  url: string,
  key: string,
  stations: readonly PushedStation[],
  identity = randomBytes(8).toString('hex'),
): Promise<PushReply> {
  const response = await fetch(`${url}/api/v1/pushes`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': identity,
    },
    body: JSON.stringify({ stations }),
  });
  return { status: response.status, body: (await response.json()) as PushReply['body'] };
}

/** `body` is whatever JSON the answer has; null where it has none. */
export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON the answer has
  readonly body: any;
}

/** As an operator, over HTTP. */
export async function askControl(url: string, method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${url}/admin/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json().catch(() => null) };
}

/** Where nothing but success will do. @returns the answer's body. @throws Error that says what the answer was */
export async function askControlWell(...asked: Parameters<typeof askControl>): Promise<Answer['body']> {
  const { status, body } = await askControl(...asked);
  if (status >= 300) throw new Error(`${asked[1]} ${asked[2]}: ${status} ${JSON.stringify(body)}`);
  return body;
}

export interface Coverage {
  readonly state: 'IN_PROGRESS' | 'COMPLETE' | 'COMPLETE_WITH_EXCEPTIONS';
  readonly stationOutcome: string | null;
  readonly places:
    | readonly { place: string; rows: number; amount: string }[]
    | Readonly<Record<string, unknown>>;
  readonly funnel: readonly {
    stage: string;
    rows: number;
    amount: string;
    dropped: readonly { reason: string; rows: number; amount: string }[];
    pending: { rows: number; amount: string };
  }[];
}

export async function coverageOf(url: string, key: string, pushId: string): Promise<Coverage> {
  const response = await fetch(`${url}/api/v1/pushes/${pushId}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  if (response.status !== 200)
    throw new Error(`coverage of ${pushId}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Coverage;
}

/** Waits for the state, not for time; says what is still under way when the deadline passes. */
export async function untilDone(
  url: string,
  key: string,
  pushId: string,
  deadlineMs = 30_000,
): Promise<Coverage> {
  return until(
    `push ${pushId} to be complete`,
    deadlineMs,
    async () => {
      const coverage = await coverageOf(url, key, pushId);
      return coverage.state === 'IN_PROGRESS' ? null : coverage;
    },
    async () => JSON.stringify((await coverageOf(url, key, pushId)).places),
  );
}

export async function until<T>(
  what: string,
  deadlineMs: number,
  look: () => Promise<T | null>,
  describe: () => Promise<string> = async () => '',
): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > end) throw new Error(`Waited ${deadlineMs} ms for ${what}: ${await describe()}`);
    await pause(25);
  }
}

/** Places by name, as the database has them. */
export async function placesOf(store: Store, pushId: string): Promise<Record<string, number>> {
  const { placeName } = await import('../../src/domain/place.ts');
  const rows = await store.many<{ place: number; n: string }>(
    'SELECT place, COUNT(*) n FROM pushed_row_place WHERE push_id = ? GROUP BY place ORDER BY place',
    [pushId],
  );
  return Object.fromEntries(rows.map((row) => [placeName(row.place), Number(row.n)]));
}

/** COV-2: every row is in the place that bills, messages, tasks, outcomes and snapshots say; nothing is lost or doubled. */
export async function assertConserved(store: Store): Promise<void> {
  const faults = await checkPlaces(store);
  if (faults.length > 0) throw new Error(`places do not hold:\n${faults.slice(0, 20).join('\n')}`);
  await assertVerified(store);
}
