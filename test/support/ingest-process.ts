/** The partner API as a process of its own, so that a test can bound its memory and measure it. Started by `large-push.test.ts`. */
import { MikroORM } from '@mikro-orm/mysql';
import { mikroOrmOptions } from '../../config/mikro-orm.config.ts';
import { Store } from '../../src/store/transaction.ts';
import { startPartnerApi } from './partner-api.ts';

const databaseUrl = process.argv[2]!;
const orm = await MikroORM.init({ ...mikroOrmOptions({ databaseUrl, poolMax: 4 }), logger: () => {} });
const api = await startPartnerApi(new Store(orm), {
  limits: { rowsMax: 100_000, stationsMax: 20_000, bytesMax: 64 * 1024 * 1024, receiveTimeoutMs: 120_000 },
});

let peakRss = process.memoryUsage.rss();
const watch = setInterval(() => {
  peakRss = Math.max(peakRss, process.memoryUsage.rss());
}, 20);

process.on('message', async (message) => {
  if (message === 'rss') process.send?.({ rss: process.memoryUsage.rss(), peakRss });
  if (message === 'stop') {
    clearInterval(watch);
    await api.close();
    await orm.close(true);
    process.disconnect();
  }
});
process.send?.({ url: api.url });
