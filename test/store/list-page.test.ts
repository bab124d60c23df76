import { expect } from 'chai';
import { equalities, listPage, type Page } from '../../src/store/list-page.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { insertRow } from '../support/factory.ts';

const OPERATIONS = { from: 'operation_audit', columns: 'id, target', key: 'id' };
const SMALL = { windowRows: 3, rowsExaminedMax: 6 };

type Row = { readonly id: string; readonly target: string };

describe('store: pages of long tables', () => {
  let testStore: TestStore;

  before(async () => {
    testStore = await openTestStore();
    // 1 to 20; every seventh is rare, and two ids are missing.
    for (let number = 1; number <= 22; number++) {
      if (number === 5 || number === 6) continue;
      const target = String(number);
      const action = number % 7 === 0 ? 'RARE' : 'USUAL';
      await insertRow(testStore.store, 'operation_audit', { id: number, actor: 'a', action, target });
    }
  });
  after(() => testStore.drop());

  const page = (filter: object, beforeId: string | null, limit: number): Promise<Page<Row>> =>
    listPage<Row>(
      testStore.store,
      { ...OPERATIONS, filters: equalities(filter as Record<string, string>) },
      { beforeId, limit },
      SMALL,
    );
  const walk = async (filter: object, limit: number) => {
    const pages: string[][] = [];
    for (let cursor: string | null = null, turn = 0; turn === 0 || cursor !== null; turn++) {
      const { items, nextCursor }: Page<Row> = await page(filter, cursor, limit);
      pages.push(items.map((row) => row.target));
      cursor = nextCursor;
    }
    return pages;
  };

  it('are full where nothing is filtered, and end without a cursor', async () => {
    expect(await walk({}, 8)).to.deep.equal([
      ['22', '21', '20', '19', '18', '17', '16', '15'],
      ['14', '13', '12', '11', '10', '9', '8', '7'],
      ['4', '3', '2', '1'],
    ]);
  });

  it('end without a cursor where the last page is just full', async () => {
    expect((await walk({}, 10)).map((items) => items.length)).to.deep.equal([10, 10]);
  });

  it('look at a bounded number of rows: they may be short or empty, and go on from where they stopped looking', async () => {
    expect(await walk({ action: 'RARE' }, 10)).to.deep.equal([['21'], ['14'], ['7'], []]);
    expect(await walk({ action: 'NONE' }, 10)).to.deep.equal([[], [], [], []]);
  });

  it('stop at the row that fills them, within a window too', async () => {
    expect(await walk({ action: 'USUAL' }, 2)).to.deep.equal([
      ['22', '20'],
      ['19', '18'],
      ['17', '16'],
      ['15', '13'],
      ['12', '11'],
      ['10', '9'],
      ['8', '4'],
      ['3', '2'],
      ['1'],
    ]);
  });

  it('look at windows no more where an index serves the filter', async () => {
    const source = { ...OPERATIONS, filters: equalities({ action: 'RARE' }), selective: true };
    const { items, nextCursor } = await listPage<Row>(
      testStore.store,
      source,
      { beforeId: null, limit: 10 },
      SMALL,
    );
    expect(items.map((row) => row.target)).to.deep.equal(['21', '14', '7']);
    expect(nextCursor).to.equal(null);
  });
});
