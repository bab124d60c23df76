import { expect } from 'chai';
import { lockReleaseBackOff } from '../../src/domain/back-off.ts';
import { readParameters } from '../../src/domain/job-parameters.ts';
import {
  judgeIdentity,
  LOCK_RELEASE_REASONS,
  LOCK_RELEASE_SCENE,
  lockReleaseCode,
  lockReleaseKey,
  needsSelection,
  readIdentity,
  stopsAtPublishBoundary,
} from '../../src/domain/lock-release.ts';

describe('domain: lock release', () => {
  it('LCK-1 the key names version and reason, the code is the MD5 of the key', () => {
    const key = lockReleaseKey({
      paymentOrderVersionId: '123456789',
      lockReleaseReason: 'BUILD_FAILED',
      orderBillIds: null,
    });
    expect(key).to.equal('LOCK_RELEASE:123456789:BUILD_FAILED');
    // echo -n LOCK_RELEASE:123456789:BUILD_FAILED | md5sum
    expect(lockReleaseCode(key)).to.equal('RIPLR:281fa841e8f9ddc361361d9442d062a3');
  });

  it('LCK-4 a selection adds the SHA-256 of its ids, ascending by value', () => {
    const key = lockReleaseKey({
      paymentOrderVersionId: '1',
      lockReleaseReason: 'PAYMENT_SUCCESS',
      orderBillIds: ['10', '9', '2'],
    });
    // echo -n 2,9,10 | sha256sum
    expect(key).to.equal(
      'LOCK_RELEASE:1:PAYMENT_SUCCESS:73078315e2b4bc52dd0c4dd1b95f4fa63bf85f6c5a15628d89826b93a31f2734',
    );
  });

  it('LCK-4 the ids of a selection are kept ascending by value, in whichever order they are named', () => {
    const asked = { paymentOrderVersionId: '1', lockReleaseReason: 'PAYMENT_SUCCESS' };
    expect(judgeIdentity({ ...asked, selection: { orderBillIds: ['10', '2', '9'] } })).to.deep.equal({
      identity: { ...asked, orderBillIds: ['2', '9', '10'] },
    });
  });

  for (const reason of ['UNKNOWN', 'build_failed', 'BUILD_FAILED ', '', 'PAYMENT'])
    it(`LCK-27 "${reason}" is no reason: neither accepted nor carried out`, () => {
      const identity = { paymentOrderVersionId: '1', lockReleaseReason: reason };
      expect(judgeIdentity({ ...identity, selection: null })).to.have.property('fault');
      const key = `LOCK_RELEASE:1:${reason}`;
      const stored = {
        taskData: { ...identity, taskScene: LOCK_RELEASE_SCENE },
        businessKey: key,
        taskCode: lockReleaseCode(key),
      };
      expect(readIdentity(stored)).to.have.property('fault');
    });

  it('LCK-13 four reasons stop at the publish boundary', () => {
    expect(LOCK_RELEASE_REASONS.filter(stopsAtPublishBoundary)).to.deep.equal([
      'BUILD_FAILED',
      'INVALID_REVISE_SESSION',
      'SUBMIT_CANCEL',
      'REVISE_FAILED',
    ]);
  });

  it('LCK-4 five reasons speak of some bills', () => {
    expect(LOCK_RELEASE_REASONS.filter(needsSelection)).to.deep.equal([
      'REVIEW_APPROVED_UNQUALIFIED',
      'PAYMENT_SUCCESS',
      'PARTIAL_PAYMENT',
      'PAYMENT_FAIL',
      'REVISE_REMOVED',
    ]);
  });

  for (const reason of LOCK_RELEASE_REASONS) {
    const asked = { paymentOrderVersionId: '1', lockReleaseReason: reason, note: 'because' };
    const isRefused = (selection: Parameters<typeof judgeIdentity>[0]['selection']) =>
      'fault' in judgeIdentity({ ...asked, selection });
    const never = reason === 'REVIEW_REJECTED';
    const some = needsSelection(reason);
    it(`LCK-4, DEC-27 ${reason} ${never ? 'is always refused' : some ? 'must say which bills' : 'takes no selection'}`, () => {
      expect(isRefused(null)).to.equal(never || some);
      expect(isRefused('WHOLE_SUBMISSION')).to.equal(never);
      expect(isRefused({ orderBillIds: ['1', '2'] })).to.equal(never || !some);
    });
  }

  const badSelections: Record<string, string[]> = {
    'no ids': [],
    'an id twice': ['1', '1'],
    'what is no id': ['1', 'x'],
    'an id with a leading zero': ['01'],
    'a negative id': ['-1'],
  };
  for (const [what, orderBillIds] of Object.entries(badSelections)) {
    it(`DEC-27 a selection with ${what} is refused`, () => {
      const asked = {
        paymentOrderVersionId: '1',
        lockReleaseReason: 'PAYMENT_FAIL',
        selection: { orderBillIds },
      };
      expect(judgeIdentity(asked)).to.have.property('fault');
    });
  }

  it('LCK-22 the back-off is 10, 15, 20 minutes, and at most an hour', () => {
    const minutes = [1, 2, 3, 4, 10, 11, 12, 100].map(
      (failures) => lockReleaseBackOff(failures, 0.5) / 60_000,
    );
    expect(minutes).to.deep.equal([10, 15, 20, 25, 55, 60, 60, 60]);
  });
});

describe('domain: parameters of a run', () => {
  const wanted = { taskCode: 'one', maxTaskCount: 1 };
  const forms: Record<string, unknown> = {
    plain: wanted,
    'in data': { data: wanted },
    'as JSON text in data': { data: JSON.stringify(wanted) },
    'beside data': { maxTaskCount: 1, data: { taskCode: 'one' } },
  };
  for (const [form, body] of Object.entries(forms)) {
    it(`LCK-7 reads them ${form}`, () => {
      expect(readParameters(body)).to.deep.equal({ parameters: wanted });
    });
  }

  const unreadable: Record<string, unknown> = {
    'half a document': { data: '{"taskCode": ' },
    'an empty text': { data: '' },
    'a text that is no object': { data: '"one"' },
    'a list': { data: ['one'] },
    null: { data: null },
    'a number': { data: 7 },
    'the same member twice': { taskCode: 'one', data: { taskCode: 'two' } },
  };
  for (const [what, body] of Object.entries(unreadable)) {
    it(`LCK-7 ${what} in data is a fault`, () => {
      expect(readParameters(body)).to.have.property('fault');
    });
  }
});
