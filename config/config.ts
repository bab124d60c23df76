/**
 * The only reader of the environment. The result is frozen; all faults are named in one error,
 * so that an operator mends them in one go.
 */
import { createSecretKey } from 'node:crypto';
import { hostname } from 'node:os';
import { z } from 'zod';
import { nearestName } from './nearest-name.ts';

const positive = (fallback: number) => z.coerce.number().int().positive().default(fallback);
const atLeast = (min: number, fallback: number, why: string) =>
  z.coerce.number().int().min(min, `must be at least ${min}: ${why}`).default(fallback);
const flag = (fallback: boolean) =>
  z
    .enum(['true', 'false', '1', '0'])
    .default(fallback ? 'true' : 'false')
    .transform((text) => text === 'true' || text === '1');

/** Keys are the environment's names without the prefix ROOFTALLY_ (the two URLs have none). */
const environmentSchema = z.object({
  DATABASE_URL: z.string().regex(/^mysql:\/\//, 'must look like mysql://user:password@host:3306/rooftally'),
  REDIS_URL: z.string().regex(/^rediss?:\/\//, 'must look like redis://host:6379/0'),
  ROOFTALLY_HOST: z.string().default('127.0.0.1'),
  ROOFTALLY_PORT: z.coerce.number().int().min(0).max(65535).default(8080),
  ROOFTALLY_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  ROOFTALLY_WORKER_NAME: z.string().max(60).optional(),
  ROOFTALLY_ADMIN_TOKEN: z.string().min(16, 'must have at least 16 characters').optional(),
  ROOFTALLY_REDIS_PREFIX: z
    .string()
    .regex(/^[a-z0-9-]+$/)
    .default('rooftally'),
  ROOFTALLY_DATABASE_POOL: atLeast(2, 32, 'one connection holds the lock while another migrates'),
  ROOFTALLY_SLOT_LEASE_MS: atLeast(
    5_000,
    30_000,
    'a shorter lease counts a mere lock wait as a crash (ENG-12)',
  ),
  ROOFTALLY_SLICE_MS: positive(200),
  ROOFTALLY_SLICE_CONTENDED_MS: positive(60),
  ROOFTALLY_SCAN_INTERVAL_MS: positive(1_000),
  ROOFTALLY_LEADER_LEASE_MS: positive(5_000),
  ROOFTALLY_INSPECT_INTERVAL_MS: positive(600_000),
  ROOFTALLY_RETENTION_ENABLED: flag(true),
  ROOFTALLY_RETENTION_INTERVAL_MS: positive(600_000),
  ROOFTALLY_RETENTION_GRACE_DAYS: atLeast(
    1,
    30,
    'the answer to a last repeat may still be on its way when an identity expires',
  ),
  ROOFTALLY_RETENTION_AUDIT_DAYS: atLeast(90, 1095, 'who changed what is asked for long after'),
  ROOFTALLY_RETENTION_PIECE_ROWS: z.coerce.number().int().min(1).max(5_000).default(500),
  ROOFTALLY_RETENTION_PAUSE_MS: z.coerce.number().int().min(0).max(60_000).default(20),
  ROOFTALLY_STATION_LEASE_MS: atLeast(
    1_000,
    20_000,
    'a shorter lease is over before work begins on it (ENG-19)',
  ),
  ROOFTALLY_ACCOUNT_TIME_LIMIT_MS: positive(300_000),
  ROOFTALLY_JOB_LOCK_MS: positive(5_000),
  ROOFTALLY_ACTOR_CONCURRENCY: positive(6),
  ROOFTALLY_SHUTDOWN_TIMEOUT_MS: positive(20_000),
  ROOFTALLY_KICK_ENABLED: flag(true),
  ROOFTALLY_KICK_SHARE: z.coerce.number().min(0).max(1).default(1),
  ROOFTALLY_PUSH_ROWS_MAX: positive(100_000),
  ROOFTALLY_PUSH_STATIONS_MAX: positive(20_000),
  ROOFTALLY_PUSH_BYTES_MAX: positive(64 * 1024 * 1024),
  ROOFTALLY_PUSH_RECEIVE_TIMEOUT_MS: positive(120_000),
  ROOFTALLY_PUSH_RATE_PER_MINUTE: positive(600),
  ROOFTALLY_SPOOL_DIR: z.string().optional(),
  ROOFTALLY_IDENTITY_DAYS: positive(90),
  ROOFTALLY_SECRET_KEYS: secretKeys().optional(),
  ROOFTALLY_SIGNATURE_WINDOW_MS: positive(300_000),
});

/** `name:base64` of 32 bytes, several with commas: the first seals, all open. */
function secretKeys() {
  const fault = 'must look like 2026a:<base64 of 32 bytes>, several with commas, each name once';
  return z.string().transform((text, context) => {
    const keys = text.split(',').map((part) => {
      const [, name, secret] = /^([a-z0-9-]{1,16}):([A-Za-z0-9+/]{43}=)$/.exec(part.trim()) ?? [];
      return { name, secret };
    });
    const names = new Set(keys.map(({ name }) => name));
    if (names.has(undefined) || names.size < keys.length) {
      // The text is a secret: it is not repeated.
      context.addIssue({ code: 'custom', message: fault });
      return z.NEVER;
    }
    return keys.map(({ name, secret }) => ({
      name: name!,
      key: createSecretKey(Buffer.from(secret!, 'base64')),
    }));
  });
}

export type Config = Readonly<ReturnType<typeof shape>>;

/**
 * Reads and checks the configuration.
 * @throws ConfigError that names every variable that is missing or wrong, and what it must look like.
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = environmentSchema.safeParse(given);
  const unknown = unknownNames(Object.keys(given));
  if (!parsed.success) throw new ConfigError([...unknown, ...parsed.error.issues.map(describeIssue)]);
  const config = shape(parsed.data);
  const faults = [...unknown, ...crossChecks(config)];
  if (faults.length > 0) throw new ConfigError(faults);
  return deepFreeze(config);
}

export class ConfigError extends Error {
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length} fault(s):\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    );
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

function shape(env: z.infer<typeof environmentSchema>) {
  return {
    databaseUrl: env.DATABASE_URL,
    databasePoolMax: env.ROOFTALLY_DATABASE_POOL,
    redisUrl: env.REDIS_URL,
    /** Braces make it a hash tag: all keys of ours share one Redis Cluster slot. */
    redisPrefix: `{${env.ROOFTALLY_REDIS_PREFIX}}`,
    workerName: env.ROOFTALLY_WORKER_NAME ?? `${hostname().slice(0, 40)}:${process.pid}`,
    logLevel: env.ROOFTALLY_LOG_LEVEL,
    shutdownTimeoutMs: env.ROOFTALLY_SHUTDOWN_TIMEOUT_MS,
    http: { host: env.ROOFTALLY_HOST, port: env.ROOFTALLY_PORT, adminToken: env.ROOFTALLY_ADMIN_TOKEN },
    tasks: {
      slotLeaseMs: env.ROOFTALLY_SLOT_LEASE_MS,
      sliceMs: env.ROOFTALLY_SLICE_MS,
      sliceContendedMs: env.ROOFTALLY_SLICE_CONTENDED_MS,
      jobLockMs: env.ROOFTALLY_JOB_LOCK_MS,
      actorConcurrency: env.ROOFTALLY_ACTOR_CONCURRENCY,
      kickEnabled: env.ROOFTALLY_KICK_ENABLED,
      kickShare: env.ROOFTALLY_KICK_SHARE,
    },
    scheduler: {
      scanIntervalMs: env.ROOFTALLY_SCAN_INTERVAL_MS,
      leaderLeaseMs: env.ROOFTALLY_LEADER_LEASE_MS,
      inspectIntervalMs: env.ROOFTALLY_INSPECT_INTERVAL_MS,
    },
    accounts: { timeLimitMs: env.ROOFTALLY_ACCOUNT_TIME_LIMIT_MS },
    retention: {
      enabled: env.ROOFTALLY_RETENTION_ENABLED,
      everyMs: env.ROOFTALLY_RETENTION_INTERVAL_MS,
      graceDays: env.ROOFTALLY_RETENTION_GRACE_DAYS,
      auditDays: env.ROOFTALLY_RETENTION_AUDIT_DAYS,
      pieceRows: env.ROOFTALLY_RETENTION_PIECE_ROWS,
      pauseMs: env.ROOFTALLY_RETENTION_PAUSE_MS,
    },
    leases: { stationLeaseMs: env.ROOFTALLY_STATION_LEASE_MS },
    ingest: {
      rowsMax: env.ROOFTALLY_PUSH_ROWS_MAX,
      stationsMax: env.ROOFTALLY_PUSH_STATIONS_MAX,
      bytesMax: env.ROOFTALLY_PUSH_BYTES_MAX,
      receiveTimeoutMs: env.ROOFTALLY_PUSH_RECEIVE_TIMEOUT_MS,
      ratePerMinute: env.ROOFTALLY_PUSH_RATE_PER_MINUTE,
      spoolDir: env.ROOFTALLY_SPOOL_DIR,
      identityDays: env.ROOFTALLY_IDENTITY_DAYS,
    },
    signing: { secretKeys: env.ROOFTALLY_SECRET_KEYS ?? [], windowMs: env.ROOFTALLY_SIGNATURE_WINDOW_MS },
  };
}

function crossChecks(config: Config): string[] {
  const faults: string[] = [];
  if (config.tasks.sliceContendedMs > config.tasks.sliceMs) {
    faults.push('ROOFTALLY_SLICE_CONTENDED_MS must not be longer than ROOFTALLY_SLICE_MS');
  }
  return faults;
}

const PREFIX = 'ROOFTALLY_';
/** What Kubernetes puts into every container for a service whose name begins like ours; no settings. */
const SERVICE_LINK =
  /_SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?$|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$/;

/** Of the test suite, whose processes of ours inherit it; nothing of ours reads it. */
const OF_THE_SUITE = 'ROOFTALLY_TEST_';

/** A misspelt setting would be left out in silence. */
function unknownNames(given: readonly string[]): string[] {
  const known = Object.keys(environmentSchema.shape);
  return given
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name))
    .filter((name) => !SERVICE_LINK.test(name) && !name.startsWith(OF_THE_SUITE))
    .map((name) => {
      const near = nearestName(name, known);
      return `${name} is not known${near === null ? '; remove it' : `; did you mean ${near}?`}`;
    });
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const name = issue.path.join('.');
  return issue.code === 'invalid_type'
    ? `${name} is missing or not of the right type`
    : `${name}: ${issue.message}`;
}

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (part !== null && typeof part === 'object') deepFreeze(part);
  return Object.freeze(value);
}
