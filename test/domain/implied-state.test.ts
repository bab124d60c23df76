import { expect } from 'chai';
import { faultOfState, type ReleaseSubject } from '../../src/domain/implied-state.ts';

describe('domain: the state that a reason implies', () => {
  const subject = (targetDataVersion: string, currentPublishVersion: string): ReleaseSubject => ({
    versionId: '1',
    versionStatus: 'BUILD_FAILED',
    failureCode: null,
    targetDataVersion,
    currentPublishVersion,
    currentActivation: 'DONE',
    orderStatus: 'OPEN',
    paymentOrderId: '1',
    orderCreateUserId: 'wang',
    session: {
      mode: 'REVISE',
      targetPaymentOrderId: '1',
      creatorUserId: 'lin',
      status: 'SUBMIT_FAILED',
      activeSubmitId: '1',
    },
  });

  for (const [own, current, overtaken] of [
    ['1', '2', true],
    ['9', '10', true],
    ['10', '9', false],
    ['10', '10', false],
    ['99', '100', true],
  ] as const)
    it(`LCK-3 version ${own} beside the published ${current}: numbers, not texts, say which is later`, () => {
      const isFault = (reason: Parameters<typeof faultOfState>[0]) =>
        faultOfState(reason, subject(own, current)) !== null;
      expect([isFault('REVISE_REMOVED'), isFault('RESUBMIT_REFRESH')]).to.deep.equal([
        !overtaken,
        !overtaken,
      ]);
      expect(isFault('INVALID_REVISE_SESSION')).to.equal(overtaken || own === current);
    });
});
