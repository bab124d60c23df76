import { expect } from 'chai';
import { Failure, RowCountError, toFailure } from '../src/errors.ts';

/** As the driver throws it. */
const fromDatabase = (errno: number, sqlState: string) =>
  Object.assign(new Error(`refused with ${errno}\nand more`), { errno, sqlState });
const thrownBy = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return expect.fail('it did not throw');
};

describe('what was thrown, as a failure', () => {
  const ours: [string, unknown][] = [
    ['a missing value', thrownBy(() => (undefined as unknown as string).length)],
    ['text that is no number', thrownBy(() => BigInt('S12'))],
    ['text that is no JSON', thrownBy(() => JSON.parse('{'))],
    ['a number out of range', thrownBy(() => (1).toFixed(200))],
    ['a count that is not as it must be', new RowCountError('finishing tasks', 1, 0)],
    ['a broken assumption', new Error('Broken assumption: two of them')],
  ];
  for (const [title, thrown] of ours) {
    it(`DIF-16 ACC-10 ${title} is a fault met in that unit: its neighbours go on`, () => {
      expect(toFailure(thrown)).to.include({
        code: 'INTERNAL',
        reach: 'unit',
        retryable: true,
        cause: thrown,
      });
    });
  }

  for (const [errno, sqlState, title] of [
    [1264, '22003', 'a number out of range'],
    [1406, '22001', 'a text too long'],
    [3141, '22032', 'a text that is no JSON'],
    [1365, '22012', 'a division by zero'],
    [1062, '23000', 'a duplicate'],
    [1366, 'HY000', 'a text in another character set'],
    [3819, 'HY000', 'a check that does not hold'],
  ] as const) {
    it(`DIF-16 what the database refuses of a unit’s values is that unit’s: ${title}`, () => {
      const failure = toFailure(fromDatabase(errno, sqlState));
      expect(failure).to.include({ code: 'DATA_REFUSED', reach: 'unit', message: `refused with ${errno}` });
    });
  }

  const platform: [string, unknown][] = [
    ['a table that is not there', fromDatabase(1146, '42S02')],
    ['too many connections', fromDatabase(1040, '08004')],
    ['a server that shuts down', fromDatabase(1053, '08S01')],
    ['a full disk', fromDatabase(1114, 'HY000')],
    ['a connection that is lost', Object.assign(new Error('lost'), { code: 'PROTOCOL_CONNECTION_LOST' })],
    [
      'a part of Node’s that is closed',
      Object.assign(new TypeError('closed'), { code: 'ERR_INVALID_STATE' }),
    ],
    ['what is no error at all', 'away'],
  ];
  for (const [title, thrown] of platform) {
    it(`DIF-16 ${title} is the platform’s, and says nothing of the unit`, () => {
      expect(toFailure(thrown)).to.include({ code: 'INFRASTRUCTURE', reach: 'platform', retryable: true });
    });
  }

  it('ENG-13 a failure stays as it is', () => {
    const failure = new Failure('PAYMENT_LOCKED', 'locked', { retryable: false });
    expect(toFailure(failure)).to.equal(failure);
  });
});
