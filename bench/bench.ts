/**
 * The benchmark: in one run, on the same database, the raw limit, the station stage, and the whole chain. Ratios are what
 * it is for: times depend on the machine. MySQL runs with its binary log and `sync_binlog=1`, as in production.
 */
import { randomBytes } from 'node:crypto';
import { readConfig } from '../config/config.ts';
import { mikroOrmOptions } from '../config/mikro-orm.config.ts';
import { startRooftally } from '../src/main.ts';
import { closeStore, openStore } from '../src/store/open-store.ts';
import { setStagePaused } from '../src/store/stage-control.ts';
import type { Store } from '../src/store/transaction.ts';
import { type BenchPartner, BILLS_PER_STATION, makeBenchPartners, pushBodyOf } from './bench-data.ts';
import { measureRaw } from './raw-limit.ts';
import { untilPlaces, untilStationsDone } from './wait.ts';

export interface BenchOptions {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly databaseVersion: string;
  /** Fewer stations: a minute instead of several. */
  readonly quick: boolean;
  readonly log: (line: string) => void;
}

export interface BenchResult {
  readonly database: string;
  readonly durability: {
    readonly binaryLog: boolean;
    readonly syncBinlog: string;
    readonly flushLogAtCommit: string;
  };
  readonly stations: number;
  readonly bills: number;
  readonly everyRowCurrent: boolean;
  readonly stationsPerSecond: { readonly raw: number; readonly station: number; readonly chain: number };
  readonly billsPerSecond: { readonly raw: number; readonly station: number; readonly chain: number };
  readonly ratios: { readonly stationToRaw: number; readonly chainToRaw: number };
}

const PARTNERS = 4;
const STATIONS_PER_PARTNER = { quick: 500, full: 2_500 };
const POOL_MAX = 24;

export async function runBench(options: BenchOptions): Promise<BenchResult> {
  const stationsPerPartner = options.quick ? STATIONS_PER_PARTNER.quick : STATIONS_PER_PARTNER.full;
  const stations = PARTNERS * stationsPerPartner;
  const config = readConfig({
    DATABASE_URL: options.databaseUrl,
    REDIS_URL: options.redisUrl,
    ROOFTALLY_PORT: '0',
    ROOFTALLY_LOG_LEVEL: 'error',
    ROOFTALLY_REDIS_PREFIX: `bench-${randomBytes(4).toString('hex')}`,
    ROOFTALLY_PUSH_RATE_PER_MINUTE: '100000',
  });
  const store = await openStore(mikroOrmOptions({ databaseUrl: config.databaseUrl, poolMax: POOL_MAX }));
  const running = await startRooftally({ config, roles: ['api', 'worker', 'scheduler'] });
  try {
    options.log(
      `${options.databaseVersion}; ${stations} stations with ${BILLS_PER_STATION} bills each, ${PARTNERS} partners`,
    );
    options.log('preparing stations, our own bills and snapshots');
    const partners = await makeBenchPartners(store, PARTNERS, stationsPerPartner);

    options.log('raw limit: one durable multi-row upsert a station, 16 connections');
    const rawS = await measureRaw(store, stations);
    options.log('station stage: every accepted station, the stages after it paused');
    const stationS = await measureStationStage(store, running.address, partners);
    options.log('whole chain: from the first byte of a push to the last snapshot');
    const chainS = await measureChain(store, running.address, partners);
    return await resultOf(store, options, stations, { rawS, stationS, chainS });
  } finally {
    await running.stop();
    await closeStore(store);
  }
}

/** Accepted while the stages rest; then the station stage alone works. Afterwards the rest is worked off. */
async function measureStationStage(
  store: Store,
  url: string,
  partners: readonly BenchPartner[],
): Promise<number> {
  for (const stage of ['bill-station', 'income-diff'] as const)
    await setStagePaused(store, stage, true, 'bench');
  const pushIds = await Promise.all(partners.map((partner) => sendPush(url, partner, 'first')));
  const startedMs = performance.now();
  await setStagePaused(store, 'bill-station', false, 'bench');
  await untilStationsDone(store, pushIds);
  const tookS = (performance.now() - startedMs) / 1000;
  await setStagePaused(store, 'income-diff', false, 'bench');
  await untilPlaces(store, pushIds, 'CURRENT');
  return tookS;
}

/** The same bills again, in a new push: every row travels the whole chain over existing rows, as in every later month. */
async function measureChain(store: Store, url: string, partners: readonly BenchPartner[]): Promise<number> {
  const startedMs = performance.now();
  const pushIds = await Promise.all(partners.map((partner) => sendPush(url, partner, 'second')));
  await untilPlaces(store, pushIds, 'CURRENT');
  return (performance.now() - startedMs) / 1000;
}

async function sendPush(url: string, partner: BenchPartner, identity: string): Promise<string> {
  const response = await fetch(`${url}/api/v1/pushes`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${partner.key}`,
      'content-type': 'application/json',
      'idempotency-key': identity,
    },
    body: pushBodyOf(partner),
  });
  const reply = (await response.json()) as { pushId?: string; code?: string };
  if (response.status !== 202 || reply.code !== 'ACCEPTED') {
    throw new Error(`The push of ${partner.orgCode} was answered ${response.status} ${reply.code ?? ''}`);
  }
  return reply.pushId!;
}

async function resultOf(
  store: Store,
  options: BenchOptions,
  stations: number,
  took: { rawS: number; stationS: number; chainS: number },
): Promise<BenchResult> {
  const settings = await store.one<{ binaryLog: string; syncBinlog: string; flushLogAtCommit: string }>(
    'SELECT @@log_bin binaryLog, @@sync_binlog syncBinlog, @@innodb_flush_log_at_trx_commit flushLogAtCommit',
  );
  const perSecond = (seconds: number) => Math.round(stations / seconds);
  const stationsPerSecond = {
    raw: perSecond(took.rawS),
    station: perSecond(took.stationS),
    chain: perSecond(took.chainS),
  };
  const bills = (rate: number) => rate * BILLS_PER_STATION;
  return {
    database: options.databaseVersion,
    durability: {
      binaryLog: Number(settings.binaryLog) === 1,
      syncBinlog: String(settings.syncBinlog),
      flushLogAtCommit: String(settings.flushLogAtCommit),
    },
    stations,
    bills: stations * BILLS_PER_STATION,
    everyRowCurrent: true,
    stationsPerSecond,
    billsPerSecond: {
      raw: bills(stationsPerSecond.raw),
      station: bills(stationsPerSecond.station),
      chain: bills(stationsPerSecond.chain),
    },
    ratios: { stationToRaw: ratio(took.rawS, took.stationS), chainToRaw: ratio(took.rawS, took.chainS) },
  };
}

function ratio(rawS: number, tookS: number): number {
  return Math.round((rawS / tookS) * 1000) / 1000;
}
