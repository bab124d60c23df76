/**
 * Random pushes, deaths, locks, verdicts and orders of work, through the real chain; a plain model in memory says what must
 * come out. Last push wins, places add up, and so does the money.
 */
import fc from 'fast-check';
import { ChainModel, MONTHS, type PartnerPlan, type RowPlan, STATIONS } from '../support/chain-model.ts';
import { CHAIN, ChainWorld } from '../support/chain-world.ts';
import { type PartnerApi, startPartnerApi } from '../support/partner-api.ts';
import { assertProperty } from '../support/properties.ts';
import { assertConserved } from '../support/rooftally.ts';
import { openStages, type Stages } from '../support/stages.ts';

const PARTNERS = 2;
/** Fewer than would end a task as CRASHED (ENG-11). */
const KILLS_MAX = 2;
const RUNS = { short: 25, full: 1_000 };
const LIMIT_MS = { short: 20_000, full: 300_000 };

type Event = (world: ChainWorld) => Promise<void>;

/** Named, so that a counterexample reads like a story. */
class Happening {
  readonly #text: string;
  readonly run: Event;
  readonly isKill: boolean;

  constructor(text: string, run: Event, isKill = false) {
    this.#text = text;
    this.run = run;
    this.isKill = isKill;
  }

  toString(): string {
    return this.#text;
  }

  [fc.toStringMethod](): string {
    return this.#text;
  }
}

const partner = fc.nat(PARTNERS - 1);
const station = fc.nat(STATIONS - 1);
const month = fc.nat(MONTHS.length - 1);
const stage = fc.constantFrom(...CHAIN);
const amounts = fc.record({
  rent: fc.constantFrom(0, 1, 10_000, 12_000, 12_001, 99_999_999),
  deduction: fc.constantFrom(0, 1, 1_000, 20_000),
  freeze: fc.constantFrom(0, 50),
});
const row: fc.Arbitrary<RowPlan> = fc
  .record({
    station,
    month,
    dataVersion: fc.integer({ min: 1, max: 3 }),
    flaw: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'bad rent', 'unknown station'),
    amounts,
  })
  .map(({ amounts: own, ...rest }) => ({ ...rest, ...own }));
const table = <T>(cell: fc.Arbitrary<T>) =>
  fc.array(fc.array(cell, { minLength: MONTHS.length, maxLength: MONTHS.length }), {
    minLength: STATIONS,
    maxLength: STATIONS,
  });
const plan: fc.Arbitrary<PartnerPlan> = fc.record({
  enabled: fc.constantFrom(true, true, true, false),
  versioned: fc.boolean(),
  ours: table(fc.option(amounts)),
  snapshots: table(fc.boolean()),
});

const pushes = fc
  .tuple(partner, fc.array(row, { minLength: 1, maxLength: 6 }))
  .map(
    ([who, rows]) => new Happening(`push ${who} ${JSON.stringify(rows)}`, (world) => world.push(who, rows)),
  );
const turns = fc
  .tuple(stage, partner)
  .map(([where, who]) => new Happening(`turn ${where} ${who}`, (world) => world.turn(where, who)));
const kills = fc
  .tuple(stage, partner, fc.integer({ min: 1, max: 3 }))
  .map(
    ([where, who, commits]) =>
      new Happening(
        `kill ${where} ${who} after commit ${commits}`,
        (world) => world.kill(where, who, commits),
        true,
      ),
  );
const locks = fc
  .tuple(partner, station, month)
  .map(([who, at, when]) => new Happening(`lock ${who}/${at}/${when}`, (world) => world.lock(who, at, when)));
const verdicts = fc
  .tuple(fc.integer({ min: 2, max: 5 }), fc.constantFrom(true, true, false))
  .map(
    ([but, good]) =>
      new Happening(`${good ? 'verify' : 'disqualify'} all but every ${but}th`, (world) =>
        world.verify(but, good),
      ),
  );
const byHand = partner.map(
  (who) => new Happening(`run failed stations of ${who} by hand`, (world) => world.runFailedByHand(who)),
);
const shuffles = fc
  .tuple(partner, fc.nat(1_000))
  .map(([who, salt]) => new Happening(`shuffle ${who} (${salt})`, (world) => world.shuffle(who, salt)));
const repeats = fc.nat(9).map((nth) => new Happening(`repeat ${nth}`, (world) => world.repeat(nth)));
const unlocks = fc.nat(9).map((nth) => new Happening(`unlock ${nth}`, (world) => world.unlock(nth)));
const settles = fc.constant(new Happening('settle', (world) => world.settle()));

const happening = fc.oneof(
  { weight: 6, arbitrary: pushes },
  { weight: 6, arbitrary: turns },
  { weight: 2, arbitrary: kills },
  { weight: 2, arbitrary: locks },
  { weight: 1, arbitrary: unlocks },
  { weight: 4, arbitrary: verdicts },
  { weight: 1, arbitrary: byHand },
  { weight: 3, arbitrary: shuffles },
  { weight: 1, arbitrary: repeats },
  { weight: 2, arbitrary: settles },
);

describe('the chain: any order of events', function () {
  this.timeout(1_200_000);
  let stages: Stages;
  let api: PartnerApi;
  let tables: string[];
  before(async () => {
    stages = await openStages();
    api = await startPartnerApi(stages.store);
    const rows = await stages.store.many<{ name: string }>(
      `SELECT table_name name FROM information_schema.tables
        WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' AND table_name <> 'schema_migration'`,
    );
    tables = rows.map(({ name }) => name);
  });
  after(async () => {
    await api.close();
    await stages.close();
  });

  it('STA-1 STA-11 STA-16 DIF-5 DIF-7 ACC-8 COV-2 ENG-11 ENG-15 leaves bills, ledger, payables, totals and places as the model has them', async () => {
    await assertProperty(
      'pushes, deaths, locks and verdicts, against the model',
      { runs: RUNS, limitMs: LIMIT_MS, unbiased: true },
      fc.record({
        plans: fc.array(plan, { minLength: PARTNERS, maxLength: PARTNERS }),
        happenings: fc.array(happening, { minLength: 3, maxLength: 24, size: 'max' }),
      }),
      async ({ plans, happenings }) => {
        for (const name of tables) await stages.store.change(`DELETE FROM ${name}`);
        const world = await new ChainWorld(stages, api, new ChainModel(plans)).make();
        let kills = 0;
        for (const one of happenings) if (!one.isKill || ++kills <= KILLS_MAX) await one.run(world);
        await world.settle();
        await world.compare();
        await assertConserved(stages.store);
      },
    );
  });
});
