import { expect } from 'chai';
import { createMetrics, type OpenTaskFigures } from '../../src/metrics/metrics.ts';
import { registerHistoryLength } from '../../src/metrics/retention.ts';
import { readHistoryLength } from '../../src/store/history-length.ts';
import { openTestStore } from '../support/database.ts';

describe('metrics: open tasks', () => {
  const waiting = (oldestS: number): OpenTaskFigures => ({
    stage: 'bill-station',
    taskType: 'T',
    status: 'WAITING',
    count: 3,
    oldestS,
  });

  it('every figure of a scrape is of that scrape, the age of the oldest too, and they are read once', async () => {
    let reads = 0;
    const { registry } = createMetrics({
      readOpenTasks: async () => [waiting(++reads * 10)],
      onTrouble: () => {},
    });
    const scrape = async () =>
      (await registry.metrics()).split('\n').filter((line) => /^rooftally_task(s|_oldest)/.test(line));
    for (const oldestS of [10, 20])
      expect(await scrape()).to.deep.equal([
        `rooftally_task_oldest_waiting_seconds{stage="bill-station"} ${oldestS}`,
        'rooftally_tasks{stage="bill-station",type="T",status="WAITING"} 3',
      ]);
  });
});

describe('metrics: retention', () => {
  const made = (troubles: string[] = []) =>
    createMetrics({ readOpenTasks: async () => [], onTrouble: (where) => void troubles.push(where) });
  const linesOf = async (metrics: ReturnType<typeof made>, name: string) =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith(`rooftally_${name}`));

  it('RET-1 COV-4 rows removed by table, runs by their end, expired pushes that stay by reason, completions by state', async () => {
    const metrics = made();
    const { observer } = metrics;
    observer.removed({ pushed_row: 3, pushed_row_place: 3 }, 12);
    observer.removed({ pushed_row: 2 }, 12);
    observer.retentionRan('DONE', new Map([['OPEN', 4]]));
    observer.retentionRan('PAUSED', new Map([['ROW_EXPLAINS', 1]]));
    observer.completed('COMPLETE');
    expect(await linesOf(metrics, 'retention_removed')).to.deep.equal([
      'rooftally_retention_removed_rows_total{table="pushed_row"} 5',
      'rooftally_retention_removed_rows_total{table="pushed_row_place"} 3',
    ]);
    expect(await linesOf(metrics, 'retention_piece_seconds_count')).to.deep.equal([
      'rooftally_retention_piece_seconds_count 2',
    ]);
    expect(await linesOf(metrics, 'retention_runs')).to.deep.equal([
      'rooftally_retention_runs_total{end="DONE"} 1',
      'rooftally_retention_runs_total{end="PAUSED"} 1',
    ]);
    expect(await linesOf(metrics, 'retention_kept')).to.deep.equal([
      'rooftally_retention_kept_pushes{reason="ROW_EXPLAINS"} 1',
    ]);
    expect(await linesOf(metrics, 'push_completions')).to.deep.equal([
      'rooftally_push_completions_total{state="COMPLETE"} 1',
    ]);
  });

  it('RET-1 the history length is InnoDB’s own; where it may not be asked there is no figure, and it is told once', async () => {
    const troubles: string[] = [];
    const metrics = made(troubles);
    const database = await openTestStore();
    let mayAsk = true;
    const readLength = () => {
      if (!mayAsk) throw new Error('Access denied; you need (at least one of) the PROCESS privilege(s)');
      return readHistoryLength(database.store);
    };
    registerHistoryLength(metrics.registry, {
      readHistoryLength: async () => readLength(),
      onTrouble: (where) => void troubles.push(where),
    });
    try {
      expect(await linesOf(metrics, 'innodb_history_length')).to.have.length(1);
      expect((await linesOf(metrics, 'innodb_history_length'))[0]).to.match(/ \d+$/);
      mayAsk = false;
      for (let scrapes = 0; scrapes < 2; scrapes++)
        expect(await linesOf(metrics, 'innodb_history_length')).to.deep.equal([]);
      expect(troubles).to.have.length(1);
    } finally {
      await database.drop();
    }
  });
});
