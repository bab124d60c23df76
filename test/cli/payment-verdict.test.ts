import { expect } from 'chai';
import { PAYMENT_SCENES_WANTED, paymentFaults } from '../../src/cli/demo/payment-verdict.ts';

describe("the verdict on the demo's payment scenes", () => {
  it('finds nothing where every scene came out as it must', () => {
    expect(paymentFaults(PAYMENT_SCENES_WANTED)).to.deep.equal([]);
  });

  it('LCK-13 says so where a published order lost locks to a release that should have been refused', () => {
    const refused = { code: null, locks: '4 RELEASED for BUILD_FAILED' };
    expect(paymentFaults({ ...PAYMENT_SCENES_WANTED, refused })).to.deep.equal([
      'payment scene "refused": code is null, must be RELEASE_NOT_IMPLIED',
      'payment scene "refused": locks is 4 RELEASED for BUILD_FAILED, must be 4 ACTIVE',
    ]);
  });
});
