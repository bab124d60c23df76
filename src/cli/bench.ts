/** `rooftally bench`: how fast it is on this machine, on a fresh database of its own unless one is given. */
import { Command } from 'commander';
import type { BenchResult } from '../../bench/bench.ts';
import { givenServers } from '../../config/local-config.ts';
import { startStack } from '../stack/embedded-stack.ts';
import { STACK_FOLDER } from './demo/state-file.ts';
import { grouped } from './figures.ts';
import { table } from './table.ts';

interface BenchOptions {
  readonly quick?: boolean;
  readonly json?: boolean;
}

export function benchCommand(): Command {
  return new Command('bench')
    .description('Measure the raw limit, the station stage and the whole chain on this machine, in one run')
    .option('--quick', 'fewer stations: a minute instead of several')
    .option('--json', 'figures for programs')
    .action(bench);
}

async function bench(options: BenchOptions): Promise<void> {
  // With --json, standard output holds the figures and nothing else.
  const log = options.json === true ? console.error : console.log;
  const stack = await startStack({
    ...givenServers(),
    purpose: 'bench',
    fresh: true,
    root: STACK_FOLDER,
    log,
  });
  try {
    const { runBench } = await import('../../bench/bench.ts');
    const { databaseUrl, redisUrl, databaseVersion } = stack;
    const result = await runBench({
      databaseUrl,
      redisUrl,
      databaseVersion,
      quick: options.quick === true,
      log,
    });
    for (const line of options.json === true ? [JSON.stringify(result, null, 2)] : benchText(result))
      console.log(line);
  } finally {
    await stack.stop();
  }
}

/** Pure. */
export function benchText(result: BenchResult): string[] {
  const { durability, stationsPerSecond, billsPerSecond, ratios } = result;
  const binaryLog = durability.binaryLog
    ? `binary log, sync_binlog=${durability.syncBinlog}`
    : 'no binary log';
  const rows = [
    ['raw limit', stationsPerSecond.raw, billsPerSecond.raw, ''],
    ['station stage', stationsPerSecond.station, billsPerSecond.station, ratios.stationToRaw],
    ['whole chain', stationsPerSecond.chain, billsPerSecond.chain, ratios.chainToRaw],
  ].map((row) => row.map((cell) => (typeof cell === 'number' ? grouped(cell) : cell)));
  return [
    '',
    `${result.database}, ${binaryLog}, innodb_flush_log_at_trx_commit=${durability.flushLogAtCommit}`,
    `${grouped(result.stations)} stations, ${grouped(result.bills)} bills; every row current: ${result.everyRowCurrent ? 'yes' : 'NO'}`,
    '',
    ...table(['', 'stations/s', 'bills/s', 'of raw'], rows as string[][]),
  ];
}
