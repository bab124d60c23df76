import { expect } from 'chai';
import fc from 'fast-check';
import {
  type AccountRefresh,
  type AccountScope,
  afterFailure,
  afterSuccess,
  buildRefreshes,
  NOT_STARTED,
  type RefreshProgress,
  type RefreshSource,
  refreshBusinessKey,
  refreshTaskCode,
  remainingScopes,
  unitOf,
} from '../../src/domain/account-refresh.ts';

const scope = (platformStationId: string, rest: Partial<AccountScope> = {}): AccountScope => ({
  platformStationId,
  scopeVersion: 4,
  canonicalAccountId: `9${platformStationId}`,
  canonicalSide: 'PLATFORM',
  partnerAccountId: `8${platformStationId}`,
  platformAccountId: `9${platformStationId}`,
  batchDeduction: '10.00',
  factIds: [`7${platformStationId}`],
  rowNos: [1],
  ...rest,
});
const source: RefreshSource = {
  partnerOrgId: '7',
  requestId: 'MONTHLY_DIFF:1',
  eventMonth: '2026-03',
  pushId: '5',
  acceptNo: '12',
};
const stationsOf = (refresh: AccountRefresh) =>
  refresh.platformAccountScopes.map((one) => one.platformStationId);
const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index + 1));

describe('the refresh tasks of a message', () => {
  for (const [accounts, sizes] of [
    [0, []],
    [1, [1]],
    [24, [24]],
    [25, [25]],
    [26, [25, 1]],
    [50, [25, 25]],
    [51, [25, 25, 1]],
  ] as const) {
    it(`DIF-12 ${accounts} accounts with 12 differences each make ${sizes.length} tasks`, () => {
      const refreshes = buildRefreshes(
        source,
        numbers(accounts).map((station) =>
          scope(station, { factIds: numbers(12).map((fact) => `${station}0${fact}`) }),
        ),
      );
      expect(refreshes.map((refresh) => refresh.platformAccountScopes.length)).to.deep.equal(sizes);
      expect(refreshes.map((refresh) => refresh.differenceFactIds.length)).to.deep.equal(
        sizes.map((size) => size * 12),
      );
    });
  }

  it('DIF-12 in ascending order of platform station, as numbers: 9 before 10, beyond 2^53 too', () => {
    const stations = ['18446744073709551615', '10', '9007199254740993', '9', '9007199254740992', '100'];
    const [refresh] = buildRefreshes(
      source,
      stations.map((station) => scope(station)),
    );
    expect(stationsOf(refresh!)).to.deep.equal([
      '9',
      '10',
      '100',
      '9007199254740992',
      '9007199254740993',
      '18446744073709551615',
    ]);
  });

  it('DIF-12 a task carries its accounts with their facts, the distinct facts, the strategy, and the event month as current month', () => {
    const [refresh] = buildRefreshes(source, [
      scope('2', { factIds: ['31', '30'] }),
      scope('1', { factIds: ['30', '29'] }),
    ]);
    expect(refresh).to.include({
      bulkType: 'ACCOUNT_STAT_RECALCULATE',
      scopeStatusStrategy: 'EXACT_FACT_CHANGE',
      currentMonth: '2026-03',
      pushId: '5',
      acceptNo: '12',
    });
    expect(refresh!.platformAccountScopes.map((one) => one.factIds)).to.deep.equal([
      ['30', '29'],
      ['31', '30'],
    ]);
    expect(refresh!.differenceFactIds).to.have.members(['29', '30', '31']).and.have.length(3);
  });

  it('DIF-12 each account and each fact is in exactly one task, whatever their number and order', () => {
    const stations = fc.uniqueArray(fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }).map(String), {
      maxLength: 90,
    });
    fc.assert(
      fc.property(stations, (ids) => {
        const refreshes = buildRefreshes(
          source,
          ids.map((id) => scope(id)),
        );
        const sorted = ids.toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1));
        expect(refreshes.flatMap(stationsOf)).to.deep.equal(sorted);
        expect(refreshes.flatMap((one) => one.differenceFactIds)).to.deep.equal(sorted.map((id) => `7${id}`));
        for (const refresh of refreshes.slice(0, -1)) expect(stationsOf(refresh)).to.have.length(25);
      }),
    );
  });
});

describe('the identity of a refresh task', () => {
  const keyOf = (
    change: Partial<RefreshSource> = {},
    scopes: readonly AccountScope[] = [scope('1'), scope('2')],
    shard = 0,
  ) => {
    const its = { ...source, ...change };
    return refreshBusinessKey(its.partnerOrgId, buildRefreshes(its, scopes)[shard]!);
  };

  it('DIF-13 the same message twice has the same key and code, in whatever order its accounts and facts come', () => {
    const facts = (ids: string[]) => [scope('2', { factIds: ids }), scope('1')];
    expect(keyOf({}, facts(['5', '4']))).to.equal(keyOf({}, facts(['4', '5']).toReversed()));
    expect(refreshTaskCode(keyOf())).to.equal(refreshTaskCode(keyOf()));
  });

  const others: [what: string, key: () => string][] = [
    ['a new message', () => keyOf({ requestId: 'MONTHLY_DIFF:2' })],
    ['another partner', () => keyOf({ partnerOrgId: '8' })],
    ['another month', () => keyOf({ eventMonth: '2026-04' })],
    ['other facts', () => keyOf({}, [scope('1', { factIds: ['99'] }), scope('2')])],
    ['fewer facts', () => keyOf({}, [scope('1', { factIds: [] }), scope('2')])],
    ['another account', () => keyOf({}, [scope('1', { canonicalAccountId: '99' }), scope('2')])],
    ['another scope version', () => keyOf({}, [scope('1', { scopeVersion: 5 }), scope('2')])],
  ];
  for (const [what, other] of others) {
    it(`DIF-13 ${what} is another task`, () => {
      expect(other()).to.not.equal(keyOf());
      expect(refreshTaskCode(other())).to.not.equal(refreshTaskCode(keyOf()));
    });
  }

  it('DIF-13 the shards of one message are tasks of their own', () => {
    const scopes = numbers(51).map((station) => scope(station));
    expect(new Set([0, 1, 2].map((shard) => keyOf({}, scopes, shard))).size).to.equal(3);
  });

  it('DIF-13 the key says bulk type, partner, change id with shard, month and payload version in words', () => {
    expect(keyOf()).to.match(
      /^ACCOUNT_STAT_RECALCULATE\|7\|MONTHLY_DIFF:1:7:1\|2026-03\|v1\|[0-9a-f]{32}\|[0-9a-f]{32}$/,
    );
  });

  it('DIF-13 fits its columns with the longest of everything', () => {
    const longest = keyOf(
      { partnerOrgId: '18446744073709551615', requestId: `MONTHLY_DIFF:${'f'.repeat(64)}` },
      numbers(500).map((station) => scope(station)),
      19,
    );
    expect(longest.length, 'business_key').to.be.at.most(400);
    expect(refreshTaskCode(longest).length, 'task_code').to.be.at.most(160);
  });
});

describe('the progress of a refresh task', () => {
  const LIMIT = 3;
  const refresh = buildRefreshes(
    source,
    ['9', '10', '100'].map((station) => scope(station, { factIds: [`${station}1`, `${station}2`] })),
  )[0]!;
  const [nine, ten, hundred] = refresh.platformAccountScopes as [AccountScope, AccountScope, AccountScope];
  const fail = (progress: RefreshProgress, account: AccountScope) =>
    afterFailure(progress, unitOf(account), LIMIT);
  const left = (progress: RefreshProgress) =>
    remainingScopes(refresh, progress).map((one) => one.platformStationId);

  it('ACC-3 the cursor passes accounts in the order of numbers: behind 9 comes 10, behind 10 comes 100', () => {
    expect(left(NOT_STARTED)).to.deep.equal(['9', '10', '100']);
    expect(left(afterSuccess(NOT_STARTED, [nine]))).to.deep.equal(['10', '100']);
    expect(left(afterSuccess(NOT_STARTED, [nine, ten]))).to.deep.equal(['100']);
    expect(left(afterSuccess(NOT_STARTED, [nine, ten, hundred]))).to.deep.equal([]);
  });

  it('ACC-3 an account that the cursor has passed is not done again, whatever order the task names them in', () => {
    const shuffled = { ...refresh, platformAccountScopes: [hundred, nine, ten] };
    const passed = remainingScopes(shuffled, { ...NOT_STARTED, cursor: '10' });
    expect(passed.map((one) => one.platformStationId)).to.deep.equal(['100']);
    expect(remainingScopes(shuffled, NOT_STARTED).map((one) => one.platformStationId)).to.deep.equal([
      '9',
      '10',
      '100',
    ]);
  });

  it('ACC-3 ACC-12 success counts the accounts and clears the current one; what failed before stays counted', () => {
    const failed = fail(NOT_STARTED, nine).progress;
    expect(afterSuccess(failed, [nine, ten])).to.deep.equal({
      ...NOT_STARTED,
      cursor: '10',
      processedAccountCount: 2,
      failedAttemptCount: 1,
      failedScopeCount: 2,
      lastFailedAccountId: '9',
    });
  });

  it('ACC-3 nothing done moves nothing', () => {
    expect(afterSuccess({ ...NOT_STARTED, cursor: '10' }, []).cursor).to.equal('10');
  });

  for (const [failures, skipped] of [
    [1, false],
    [2, false],
    [3, true],
  ] as const) {
    it(`ACC-10 failure ${failures} of an account ${skipped ? 'skips it: the cursor passes' : 'keeps it: the cursor stays'}`, () => {
      let outcome = { progress: NOT_STARTED, skipped: false };
      for (let count = 0; count < failures; count++) outcome = fail(outcome.progress, nine);
      expect(outcome.skipped).to.equal(skipped);
      expect(outcome.progress).to.deep.equal({
        ...NOT_STARTED,
        failedAttemptCount: failures,
        failedScopeCount: failures * 2,
        lastFailedAccountId: '9',
        ...(skipped
          ? {
              cursor: '9',
              processedAccountCount: 1,
              skippedAccountCount: 1,
              skippedScopeCount: 2,
              lastSkippedAccountId: '9',
            }
          : { currentAccountId: '9', currentAccountRetryCount: failures }),
      });
    });
  }

  it('ACC-10 the next account starts with a count of its own', () => {
    let progress = NOT_STARTED;
    for (let count = 0; count < LIMIT; count++) progress = fail(progress, nine).progress;
    const next = fail(progress, ten);
    expect(next.skipped).to.equal(false);
    expect(next.progress).to.include({ currentAccountId: '10', currentAccountRetryCount: 1, cursor: '9' });
  });

  it('ACC-10 the count of one account is never another’s', () => {
    const twice = fail(fail(NOT_STARTED, nine).progress, nine).progress;
    expect(fail(twice, ten)).to.deep.include({ skipped: false });
    expect(fail(twice, ten).progress).to.include({ currentAccountId: '10', currentAccountRetryCount: 1 });
  });

  it('ACC-10 an account that failed twice and then succeeded leaves no count to the next', () => {
    const twice = fail(fail(NOT_STARTED, nine).progress, nine).progress;
    const next = fail(afterSuccess(twice, [nine]), ten);
    expect(next.skipped).to.equal(false);
    expect(next.progress.currentAccountRetryCount).to.equal(1);
  });

  it('ACC-10 ACC-12 every account is processed exactly once, and skipped exactly where three failures came in a row', () => {
    const fates = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 25 });
    fc.assert(
      fc.property(fates, (failuresOf) => {
        const task = buildRefreshes(
          source,
          failuresOf.map((_, index) => scope(String(index + 1))),
        )[0]!;
        let progress = NOT_STARTED;
        const failed = new Map<string, number>();
        for (let steps = 0; remainingScopes(task, progress).length > 0; steps++) {
          expect(steps, 'it ends').to.be.below(200);
          const account = remainingScopes(task, progress)[0]!;
          const index = Number(account.platformStationId) - 1;
          const count = failed.get(account.platformStationId) ?? 0;
          if (count >= failuresOf[index]!) progress = afterSuccess(progress, [account]);
          else {
            failed.set(account.platformStationId, count + 1);
            progress = afterFailure(progress, unitOf(account), LIMIT).progress;
          }
        }
        expect(progress.processedAccountCount).to.equal(failuresOf.length);
        expect(progress.skippedAccountCount).to.equal(failuresOf.filter((count) => count >= LIMIT).length);
        expect(progress.failedAttemptCount).to.equal(
          failuresOf.reduce((sum, count) => sum + Math.min(count, LIMIT), 0),
        );
        expect(progress.currentAccountId).to.equal(null);
      }),
    );
  });
});
