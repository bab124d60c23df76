import { expect } from 'chai';
import { createMetrics, type OpenTaskFigures } from '../../src/metrics/metrics.ts';

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
