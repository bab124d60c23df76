import { expect } from 'chai';
import { exponentialBackOff, lockReleaseBackOff } from '../../src/domain/back-off.ts';

const SECOND = 1_000;
const MINUTE = 60_000;

describe('back-off', () => {
  it('ENG-13 chain stages wait 2 s, and twice as long each time, up to 10 min', () => {
    const waits = [1, 2, 3, 4, 8, 9, 10, 20].map((failures) => exponentialBackOff(failures, 0.5) / SECOND);
    expect(waits).to.deep.equal([2, 4, 8, 16, 256, 512, 600, 600]);
  });

  it('ENG-13 jitter is a fifth of the wait, in both directions', () => {
    expect([0, 1].map((random) => exponentialBackOff(1, random))).to.deep.equal([1_600, 2_400]);
    expect([0, 1].map((random) => exponentialBackOff(30, random) / MINUTE)).to.deep.equal([8, 12]);
  });

  it('ENG-13 a count that makes no sense waits no time that makes none', () => {
    for (const failures of [-1, 0, 1_000_000]) {
      const waitMs = exponentialBackOff(failures, 0.5);
      expect(waitMs).to.be.within(2 * SECOND, 10 * MINUTE);
    }
  });

  it('LCK-22 lock release waits 10 min after its first failure, then 15, then 20, at most 60, without jitter', () => {
    for (const random of [0, 0.99]) {
      const waits = [1, 2, 3, 10, 11, 12, 1_000].map(
        (failures) => lockReleaseBackOff(failures, random) / MINUTE,
      );
      expect(waits).to.deep.equal([10, 15, 20, 55, 60, 60, 60]);
    }
    expect(lockReleaseBackOff(-5, 0) / MINUTE, 'never less than 5').to.equal(5);
  });
});
