import { createHash, createSecretKey, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { findCredentialOwner } from '../../src/store/credentials.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import { type ControlPlane, listAudit, startControlPlane } from '../support/control-plane.ts';
import type { TestStore } from '../support/database.ts';
import {
  endLease,
  makeEngine,
  makeSlots,
  makeTask,
  openToyStore,
  readSlot,
  slotOf,
  statusOf,
  type TestEngine,
} from '../support/engine.ts';
import { makePartner } from '../support/factory.ts';

const NEW_PARTNER = { partnerOrgId: '70001', orgCode: 'GREEN', name: 'Green roofs' };

describe('control: partners', () => {
  let testStore: TestStore;
  let plane: ControlPlane;
  let worker: TestEngine;
  const secretKeys = [{ name: 'a', key: createSecretKey(randomBytes(32)) }];

  before(async () => {
    testStore = await openToyStore();
    worker = makeEngine(testStore.store);
    plane = await startControlPlane({ engine: worker.engine, secretKeys });
  });
  after(async () => {
    await plane.close();
    await testStore.drop();
  });
  beforeEach(async () => {
    for (const table of ['partner', 'partner_credential', 'stage_slot', 'fi_async_task', 'operation_audit'])
      await testStore.store.change(`DELETE FROM ${table}`);
    worker.wake.kicks.length = 0;
  });

  const slotCount = async (stage: string, partnerOrgId: string) => {
    const row = await testStore.store.one<{ count: string }>(
      'SELECT COUNT(*) count FROM stage_slot WHERE stage = ? AND partner_org_id = ? AND retired = 0',
      [stage, partnerOrgId],
    );
    return Number(row.count);
  };
  const isRefused = async (
    answer: { status: number; body: { code: string } },
    status: number,
    code: string,
  ) => {
    expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
    expect(answer.body.code).to.equal(code);
    expect(await listAudit(testStore.store)).to.deep.equal([]);
  };

  describe('made', () => {
    it('ENG-5 with as many slots at each stage as its caps say', async () => {
      const { status, body } = await plane.ask('POST', '/partners', {
        ...NEW_PARTNER,
        paymentFlow: 'ENABLED',
        versioned: true,
        tolerance: '0.5',
        caps: { 'bill-station': 2 },
      });
      expect(status).to.equal(201);
      expect(body).to.deep.include({
        ...NEW_PARTNER,
        paymentFlow: 'ENABLED',
        versioned: true,
        tolerance: '0.50',
        paused: false,
      });
      expect(body.caps).to.include({ 'bill-station': 2, 'income-diff': 4 });
      expect(await slotCount('bill-station', '70001')).to.equal(2);
      expect(await slotCount('income-diff', '70001')).to.equal(4);
      const [audited] = await listAudit(testStore.store);
      expect(audited).to.include({ actor: 'admin-token', action: 'PARTNER_CREATE', target: '70001' });
      expect(audited!.before).to.equal(null);
      expect(audited!.after).to.deep.include({ orgCode: 'GREEN', caps: { 'bill-station': 2 } });
    });

    it('DIF-6 with its payment flow unresolved unless it is said', async () => {
      expect((await plane.ask('POST', '/partners', NEW_PARTNER)).body.paymentFlow).to.equal(null);
    });

    it('not twice: neither id nor organisation code may be taken', async () => {
      await makePartner(testStore.store, { partner_org_id: '70001', org_code: 'OTHER' });
      await makePartner(testStore.store, { partner_org_id: '70002', org_code: 'GREEN' });
      await isRefused(
        await plane.ask('POST', '/partners', { ...NEW_PARTNER, orgCode: 'NEW' }),
        409,
        'PARTNER_EXISTS',
      );
      await isRefused(
        await plane.ask('POST', '/partners', { ...NEW_PARTNER, partnerOrgId: '9' }),
        409,
        'PARTNER_EXISTS',
      );
      expect(await slotCount('bill-station', '9')).to.equal(0);
    });

    for (const [what, body] of Object.entries({
      'without a name': { partnerOrgId: '70001', orgCode: 'GREEN' },
      'with the id that is nobody': { ...NEW_PARTNER, partnerOrgId: '0' },
      'with an id that is none': { ...NEW_PARTNER, partnerOrgId: 'x' },
      'with an id beyond 64 bits': { ...NEW_PARTNER, partnerOrgId: '18446744073709551616' },
      'with a code that has blanks': { ...NEW_PARTNER, orgCode: 'GREEN ROOFS' },
      'with a negative tolerance': { ...NEW_PARTNER, tolerance: '-1' },
      'with a tolerance finer than the fen': { ...NEW_PARTNER, tolerance: '0.001' },
      'with a flow that is none': { ...NEW_PARTNER, paymentFlow: 'MAYBE' },
      'with a cap of none': { ...NEW_PARTNER, caps: { 'bill-station': 0 } },
      'with a cap beyond measure': { ...NEW_PARTNER, caps: { 'bill-station': 65 } },
      'with a cap at no stage': { ...NEW_PARTNER, caps: { 'bill-statoin': 4 } },
      'with what is not known': { ...NEW_PARTNER, acceptSeq: '9' },
    })) {
      it(`not ${what}`, async () => {
        await isRefused(await plane.ask('POST', '/partners', body), 400, 'MALFORMED_BODY');
        expect((await plane.ask('GET', '/partners')).body.items).to.deep.equal([]);
      });
    }
  });

  describe('changed', () => {
    beforeEach(async () => {
      await makePartner(testStore.store, { partner_org_id: '7' });
      await makeSlots(testStore.store, 4);
    });
    const change = (body: unknown) => plane.ask('PUT', '/partners/7', body);

    it('in what is named, and in nothing else; before and after are kept', async () => {
      const { status, body } = await change({ tolerance: '1.5', paymentFlow: 'DISABLED' });
      expect(status).to.equal(200);
      expect(body).to.include({ tolerance: '1.50', paymentFlow: 'DISABLED', paused: false });
      const unchanged = { paused: false, caps: {} };
      const [audited, asked, ...others] = await listAudit(testStore.store);
      expect(asked).to.include({ action: 'FULL_REFRESH', target: '7' });
      expect([audited, ...others]).to.deep.equal([
        {
          actor: 'admin-token',
          action: 'PARTNER_CHANGE',
          target: '7',
          before: { ...unchanged, paymentFlow: 'ENABLED', tolerance: '0.00' },
          after: { ...unchanged, paymentFlow: 'DISABLED', tolerance: '1.50' },
          reason: null,
        },
      ]);
      expect((await change({ paymentFlow: null })).body).to.include({ paymentFlow: null, tolerance: '1.50' });
    });

    it('ENG-5 in its caps: more slots are made; of fewer the free ones go, and a held one goes with its holder', async () => {
      expect((await change({ caps: { 'bill-station': 6, 'bill-snapshot': 1 } })).body.caps).to.include({
        'bill-station': 6,
        'bill-snapshot': 1,
      });
      expect(await slotCount('bill-station', '7')).to.equal(6);
      expect(await slotCount('bill-snapshot', '7')).to.equal(1);
      await testStore.store.change(
        `UPDATE stage_slot SET holder = 'worker-b', fence = 3, lease_end = SYSDATE(3) + INTERVAL 60 SECOND
          WHERE stage = 'bill-station' AND slot_no = 6`,
      );
      expect((await change({ caps: { 'bill-station': 1 } })).body.caps).to.include({
        'bill-station': 1,
        'bill-snapshot': 1,
      });
      expect(await slotCount('bill-station', '7')).to.equal(1);
      expect((await readSlot(testStore.store, slotOf(6)))?.retired).to.equal(1);
      await endLease(testStore.store, slotOf(6));
      await takeTurn(worker.engine, worker.toy, slotOf(6), { contended: false });
      expect(await readSlot(testStore.store, slotOf(6))).to.equal(null);
      expect((await change({ caps: { 'bill-station': null } })).body.caps).to.include({ 'bill-station': 4 });
      expect(await slotCount('bill-station', '7')).to.equal(4);
    });

    it('ENG-14 to paused: nothing of it is claimed until it is let go, which wakes it where work is due', async () => {
      const { store } = testStore;
      await makeTask(store, 'one');
      await change({ paused: true });
      await takeTurn(worker.engine, worker.toy, slotOf(), { contended: false });
      expect(await statusOf(store, 'one')).to.equal('PENDING');
      expect(worker.wake.kicks).to.deep.equal([]);
      await change({ paused: false });
      expect(worker.wake.kicks).to.deep.equal(['bill-station/7']);
      await takeTurn(worker.engine, worker.toy, slotOf(), { contended: false });
      expect(await statusOf(store, 'one')).to.equal('SUCCESS');
    });

    for (const [what, body] of Object.entries({
      'by nothing': {},
      'by half a body': '{"paused": tr',
      'in its code': { orgCode: 'NEW' },
      'to paused by a text': { paused: 'true' },
      'to a fraction of a slot': { caps: { 'bill-station': 1.5 } },
      'to no caps': { caps: null },
      'to a tolerance that is none': { tolerance: '1e3' },
      'to a tolerance with an exponent (DEC-17)': '{"tolerance": 1e3}',
      'to a tolerance finer than the fen, though the number is not (DEC-17)':
        '{"tolerance": 0.1000000000000000055}',
      'in part: a good change beside a bad one': { paused: true, caps: { nowhere: 1 } },
    })) {
      it(`not ${what}`, async () => {
        const answer = await change(body);
        expect(answer.status).to.equal(400);
        expect(await listAudit(testStore.store)).to.deep.equal([]);
        expect((await plane.ask('GET', '/partners/7')).body).to.include({ paused: false, tolerance: '0.00' });
      });
    }

    it('not where there is none', async () => {
      await isRefused(await plane.ask('PUT', '/partners/8', { paused: true }), 404, 'NO_SUCH_PARTNER');
      await isRefused(await plane.ask('PUT', '/partners/x', { paused: true }), 404, 'NO_SUCH_PARTNER');
    });
  });

  it('are listed by id, page by page', async () => {
    for (const id of ['12', '9', '10']) await makePartner(testStore.store, { partner_org_id: id });
    const first = await plane.ask('GET', '/partners?limit=2');
    expect(first.body.items.map((partner: { partnerOrgId: string }) => partner.partnerOrgId)).to.deep.equal([
      '9',
      '10',
    ]);
    const second = await plane.ask('GET', `/partners?limit=2&cursor=${first.body.nextCursor}`);
    expect(second.body.items.map((partner: { partnerOrgId: string }) => partner.partnerOrgId)).to.deep.equal([
      '12',
    ]);
    expect(second.body.nextCursor).to.equal(null);
    expect((await plane.ask('GET', '/partners/11')).status).to.equal(404);
  });

  describe('keys', () => {
    beforeEach(async () => {
      await plane.ask('POST', '/partners', NEW_PARTNER);
      await testStore.store.change('DELETE FROM operation_audit');
    });
    const make = (label = 'first') => plane.ask('POST', '/partners/70001/credentials', { label });
    const owner = (key: string) =>
      findCredentialOwner(testStore.store, createHash('sha256').update(key).digest('hex'));

    it('ING-1 are shown once and kept hashed: neither database, list nor audit has them', async () => {
      const { status, body } = await make();
      expect(status).to.equal(201);
      expect(body.key).to.match(/^rt_[A-Za-z0-9_-]{43}$/);
      expect(await owner(body.key)).to.include({ partnerOrgId: '70001' });
      const listed = await plane.ask('GET', '/partners/70001/credentials');
      expect(listed.body.items).to.have.length(1);
      expect(listed.body.items[0]).to.include({ id: body.id, label: 'first', live: true, revokedAt: null });
      const kept = await testStore.store.many('SELECT * FROM partner_credential');
      const audited = await listAudit(testStore.store);
      expect(JSON.stringify([listed.body, kept, audited])).not.to.contain(body.key.slice(3));
      expect(audited.map(({ action, after }) => [action, after])).to.deep.equal([
        ['CREDENTIAL_CREATE', { credentialId: body.id, label: 'first', signing: 'NONE' }],
      ]);
    });

    it('ING-1 are two at once at most, so that a partner can change over', async () => {
      const first = await make('first');
      expect((await make('second')).status).to.equal(201);
      const third = await make('third');
      expect(third.status).to.equal(409);
      expect(third.body.code).to.equal('TOO_MANY_KEYS');
      await plane.ask('POST', `/partners/70001/credentials/${first.body.id}/revoke`);
      expect((await make('third')).status).to.equal(201);
    });

    it('ING-1 are two at most even if many ask at the same time', async () => {
      const answers = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(make));
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 201, 409, 409, 409]);
    });

    it('ING-1 are revoked at once and for good; twice is once', async () => {
      const { body } = await make();
      await testStore.store.change('DELETE FROM operation_audit');
      const first = await plane.ask('POST', `/partners/70001/credentials/${body.id}/revoke`);
      expect(first.body).to.include({ id: body.id, live: false });
      expect(await owner(body.key)).to.equal(null);
      const second = await plane.ask('POST', `/partners/70001/credentials/${body.id}/revoke`);
      expect(second.body).to.deep.equal(first.body);
      expect(await listAudit(testStore.store)).to.deep.equal([
        {
          actor: 'admin-token',
          action: 'CREDENTIAL_REVOKE',
          target: '70001',
          before: { credentialId: body.id, label: 'first', live: true },
          after: { credentialId: body.id, label: 'first', live: false },
          reason: null,
        },
      ]);
    });

    it('ING-10 come with a signing secret where it is asked for, shown once and kept sealed', async () => {
      const { status, body } = await plane.ask('POST', '/partners/70001/credentials', {
        signing: 'OPTIONAL',
      });
      expect(status).to.equal(201);
      expect(body.signing).to.equal('OPTIONAL');
      expect(Buffer.from(body.signingSecret, 'base64')).to.have.length(32);
      expect((await make()).body).not.to.have.property('signingSecret');
      const listed = await plane.ask('GET', '/partners/70001/credentials');
      expect(listed.body.items.map((key: { signing: string }) => key.signing)).to.deep.equal([
        'NONE',
        'OPTIONAL',
      ]);
      const kept = await testStore.store.many<{ signing_secret: string | null }>(
        'SELECT * FROM partner_credential ORDER BY id',
      );
      const audited = await listAudit(testStore.store);
      expect(JSON.stringify([listed.body, kept, audited])).not.to.contain(body.signingSecret.slice(0, 20));
      expect(kept.map((row) => row.signing_secret?.split(':', 2))).to.deep.equal([['v1', 'a'], undefined]);
    });

    it('ING-10 are made to require signatures, and to let them be left out again; each change is in the audit', async () => {
      const { body } = await plane.ask('POST', '/partners/70001/credentials', {
        label: 'l',
        signing: 'OPTIONAL',
      });
      await testStore.store.change('DELETE FROM operation_audit');
      const path = `/partners/70001/credentials/${body.id}/signing`;
      for (const signing of ['REQUIRED', 'REQUIRED', 'OPTIONAL'])
        expect((await plane.ask('POST', path, { signing })).body).to.include({ id: body.id, signing });
      const states = (await listAudit(testStore.store)).map(({ action, before, after }) => [
        action,
        before.signing,
        after.signing,
      ]);
      expect(states).to.deep.equal([
        ['CREDENTIAL_SIGNING', 'OPTIONAL', 'REQUIRED'],
        ['CREDENTIAL_SIGNING', 'REQUIRED', 'OPTIONAL'],
      ]);
    });

    it('ING-10 without a secret, not live, or of another partner cannot be made to sign', async () => {
      const plain = (await make()).body;
      const revoked = (await plane.ask('POST', '/partners/70001/credentials', { signing: 'REQUIRED' })).body;
      await plane.ask('POST', `/partners/70001/credentials/${revoked.id}/revoke`);
      await makePartner(testStore.store, { partner_org_id: '8' });
      await testStore.store.change('DELETE FROM operation_audit');
      const ask = (partnerOrgId: string, id: string, signing = 'REQUIRED') =>
        plane.ask('POST', `/partners/${partnerOrgId}/credentials/${id}/signing`, { signing });
      await isRefused(await ask('70001', plain.id), 409, 'NO_SIGNING_SECRET');
      await isRefused(await ask('70001', revoked.id), 409, 'NO_SIGNING_SECRET');
      await isRefused(await ask('8', plain.id), 404, 'NO_SUCH_CREDENTIAL');
      await isRefused(await ask('9', plain.id), 404, 'NO_SUCH_PARTNER');
      await isRefused(await ask('70001', plain.id, 'NONE'), 400, 'MALFORMED_BODY');
    });

    it('ING-10 with a signing secret are not made where nothing is configured to keep it with', async () => {
      const bare = await startControlPlane({ engine: worker.engine });
      try {
        const answer = await bare.ask('POST', '/partners/70001/credentials', { signing: 'REQUIRED' });
        await isRefused(answer, 409, 'SIGNING_NOT_CONFIGURED');
        expect(answer.body.detail).to.contain('ROOFTALLY_SECRET_KEYS');
      } finally {
        await bare.close();
      }
      expect((await plane.ask('GET', '/partners/70001/credentials')).body.items).to.deep.equal([]);
    });

    it("are not another partner's to revoke, nor made for nobody", async () => {
      const { body } = await make();
      await makePartner(testStore.store, { partner_org_id: '8' });
      await testStore.store.change('DELETE FROM operation_audit');
      const elsewhere = await plane.ask('POST', `/partners/8/credentials/${body.id}/revoke`);
      await isRefused(elsewhere, 404, 'NO_SUCH_CREDENTIAL');
      expect(await owner(body.key)).not.to.equal(null);
      await isRefused(await plane.ask('POST', '/partners/9/credentials', {}), 404, 'NO_SUCH_PARTNER');
      await isRefused(
        await plane.ask('POST', '/partners/8/credentials', { key: 'mine' }),
        400,
        'MALFORMED_BODY',
      );
      expect((await plane.ask('GET', '/partners/9/credentials')).status).to.equal(404);
    });
  });
});
