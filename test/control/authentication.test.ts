import { expect } from 'chai';
import { AdminToken } from '../../src/control/admin-token.ts';
import { sealSession } from '../../src/control/session.ts';
import {
  ADMIN_TOKEN,
  type Answer,
  type ControlPlane,
  listAudit,
  startControlPlane,
} from '../support/control-plane.ts';
import type { TestStore } from '../support/database.ts';
import { makeEngine, openToyStore } from '../support/engine.ts';

const HOUR_MS = 3_600_000;
const PAUSE = '/admin/api/v1/stages/bill-station/pause';
const sealed = (name: string, expiresMs: number, token = ADMIN_TOKEN) =>
  `rooftally_session=${sealSession(new AdminToken(token).sessionKey, name, expiresMs)}`;

describe('control: authentication', () => {
  let testStore: TestStore;
  let plane: ControlPlane;

  before(async () => {
    testStore = await openToyStore();
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    await testStore.store.change('DELETE FROM operation_audit');
    // A plane of its own for each: attempts to sign in are counted in it.
    plane = await startControlPlane({ engine: makeEngine(testStore.store).engine, homePath: '/console' });
  });
  afterEach(() => plane.close());

  const signIn = (form: Record<string, string>, headers: Record<string, string> = {}) =>
    plane.askBare('/admin/login', { method: 'POST', body: new URLSearchParams(form), headers });
  const pauseAs = (headers: Record<string, string>) => plane.askBare(PAUSE, { method: 'POST', headers });
  const isProblem = (answer: Answer, status: number, code: string) => {
    expect(answer.status).to.equal(status);
    expect(answer.headers.get('content-type')).to.match(/^application\/problem\+json/);
    expect(answer.body).to.include({ status, code });
  };
  const cookieOf = (answer: Answer) => answer.headers.get('set-cookie')!.split(';', 1)[0]!;
  const nothingChanged = async () => expect(await listAudit(testStore.store)).to.deep.equal([]);

  describe('by bearer token', () => {
    it('lets in who has the admin token', async () => {
      expect((await pauseAs({ authorization: `Bearer ${ADMIN_TOKEN}` })).status).to.equal(200);
    });

    for (const [what, authorization] of Object.entries({
      'another token': 'Bearer other-admin-token-012345678',
      'a part of the token': `Bearer ${ADMIN_TOKEN.slice(0, -1)}`,
      'more than the token': `Bearer ${ADMIN_TOKEN}0`,
      'no token': 'Bearer ',
      'another scheme': `Basic ${Buffer.from(`admin:${ADMIN_TOKEN}`).toString('base64')}`,
      'the token alone': ADMIN_TOKEN,
    })) {
      it(`refuses ${what}`, async () => {
        const answer = await pauseAs({ authorization });
        isProblem(answer, 401, 'UNAUTHENTICATED');
        expect(answer.headers.get('www-authenticate')).to.equal('Bearer');
        await nothingChanged();
      });
    }

    it('refuses who sends nothing, reads as well as changes, and unknown routes', async () => {
      isProblem(await pauseAs({}), 401, 'UNAUTHENTICATED');
      isProblem(await plane.askBare('/admin/api/v1/tasks'), 401, 'UNAUTHENTICATED');
      isProblem(await plane.askBare('/admin/api/v1/nowhere'), 401, 'UNAUTHENTICATED');
      await nothingChanged();
    });

    it('does not fall back on the session where the token is wrong', async () => {
      const answer = await pauseAs({
        authorization: 'Bearer wrong',
        cookie: sealed('', Date.now() + HOUR_MS),
        'sec-fetch-site': 'same-origin',
      });
      isProblem(answer, 401, 'UNAUTHENTICATED');
    });

    it('is looked at before the body: who is not known learns nothing of what is read', async () => {
      const answer = await plane.askBare('/admin/api/v1/tasks/run', { method: 'POST', body: '{' });
      isProblem(answer, 401, 'UNAUTHENTICATED');
    });

    it('answers unknown routes with 404, and lets no cache keep answers', async () => {
      isProblem(await plane.ask('GET', '/nowhere'), 404, 'NO_SUCH_ROUTE');
      expect((await plane.ask('GET', '/stages')).headers.get('cache-control')).to.equal('no-store');
    });
  });

  it('refuses everything while no token is configured, and says which variable to set', async () => {
    const closed = await startControlPlane({
      engine: makeEngine(testStore.store).engine,
      adminToken: undefined,
    });
    for (const path of ['/admin/api/v1/tasks', '/admin/login', '/admin/board', '/admin', PAUSE]) {
      for (const headers of [{}, { authorization: 'Bearer ' }, { authorization: 'Bearer undefined' }]) {
        const answer = await closed.askBare(path, { method: path === PAUSE ? 'POST' : 'GET', headers });
        isProblem(answer, 403, 'CONTROL_PLANE_CLOSED');
        expect(answer.body.detail).to.contain('ROOFTALLY_ADMIN_TOKEN');
      }
    }
    await closed.close();
    await nothingChanged();
  });

  describe('by signing in', () => {
    it('shows a page without scripts that may not be framed', async () => {
      const page = await plane.askBare('/admin/login?next=/admin/board');
      expect(page.status).to.equal(200);
      expect(page.headers.get('content-type')).to.contain('text/html');
      expect(page.headers.get('content-security-policy')).to.contain("frame-ancestors 'none'");
      expect(page.text).to.contain('type="password"').and.to.contain('value="/admin/board"');
      expect(page.text).not.to.contain('<script');
    });

    it('gives a cookie out of reach for scripts and other sites, and leads to the page asked for', async () => {
      const answer = await signIn({ token: ADMIN_TOKEN, name: 'Li Wei', next: '/admin/board' });
      expect(answer.status).to.equal(303);
      expect(answer.headers.get('location')).to.equal('/admin/board');
      const cookie = answer.headers.get('set-cookie')!;
      expect(cookie)
        .to.match(/; HttpOnly/)
        .and.to.match(/; SameSite=Strict/)
        .and.to.match(/; Path=\//);
      expect(cookie).to.match(/; Max-Age=43200/);
      expect(cookie).not.to.contain(ADMIN_TOKEN);
      const tasks = await plane.askBare('/admin/api/v1/tasks', { headers: { cookie: cookieOf(answer) } });
      expect(tasks.status).to.equal(200);
    });

    it('keeps the cookie from plain connections where ours is a secure one', async () => {
      const answer = await signIn({ token: ADMIN_TOKEN }, { 'x-forwarded-proto': 'https' });
      expect(answer.headers.get('set-cookie')).to.match(/; Secure/);
    });

    it('is kept in the audit under the name that was typed, and so is what the session changes', async () => {
      const cookie = cookieOf(await signIn({ token: ADMIN_TOKEN, name: ' 王伟 ' }));
      expect((await pauseAs({ cookie, 'sec-fetch-site': 'same-origin' })).status).to.equal(200);
      const rows = await listAudit(testStore.store);
      expect(rows.map(({ actor, action }) => [actor, action])).to.deep.equal([
        ['console:王伟', 'SIGN_IN'],
        ['console:王伟', 'STAGE_PAUSE'],
      ]);
    });

    it('shows the page again for a wrong token, without a cookie', async () => {
      const answer = await signIn({ token: 'wrong', next: '/admin/board' });
      expect(answer.status).to.equal(401);
      expect(answer.headers.get('set-cookie')).to.equal(null);
      expect(answer.text).to.contain('That is not the admin token').and.to.contain('value="/admin/board"');
      expect(answer.text).not.to.contain('wrong');
      await nothingChanged();
    });

    it('refuses further attempts after ten wrong ones, the right token too', async () => {
      for (let attempt = 0; attempt < 10; attempt++)
        expect((await signIn({ token: 'wrong' })).status).to.equal(401);
      const answer = await signIn({ token: ADMIN_TOKEN });
      expect(answer.status).to.equal(429);
      expect(answer.headers.get('retry-after')).to.match(/^\d+$/);
      expect(answer.headers.get('set-cookie')).to.equal(null);
      expect(answer.text).to.contain('Too many attempts');
    });

    it('counts no attempt that succeeds', async () => {
      for (let attempt = 0; attempt < 12; attempt++)
        expect((await signIn({ token: ADMIN_TOKEN })).status).to.equal(303);
    });

    it('refuses a form that another site sends, even with the right token', async () => {
      for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }]) {
        const answer = await signIn({ token: ADMIN_TOKEN }, headers);
        expect(answer.status).to.equal(403);
        expect(answer.headers.get('set-cookie')).to.equal(null);
      }
    });

    for (const next of [
      'https://evil.example/',
      '//evil.example',
      '/\\evil.example',
      '/admin\\@evil.example',
      'javascript:alert(1)',
      '/admin/../../evil',
      '/administration',
      '/admin/board"><script>',
      `/admin/${'a'.repeat(600)}`,
      '/admin/login?next=/admin/login',
    ]) {
      it(`leads home, not to ${next.slice(0, 40)}`, async () => {
        const answer = await signIn({ token: ADMIN_TOKEN, next });
        expect(answer.headers.get('location')).to.equal('/console');
        const page = await plane.askBare(`/admin/login?next=${encodeURIComponent(next)}`);
        expect(page.text).to.contain('value="/console"');
      });
    }

    it('leads who is signed in already straight on', async () => {
      const cookie = cookieOf(await signIn({ token: ADMIN_TOKEN }));
      const answer = await plane.askBare('/admin/login', { headers: { cookie } });
      expect(answer.status).to.equal(303);
      expect(answer.headers.get('location')).to.equal('/console');
    });

    it('ends by signing out', async () => {
      const cookie = cookieOf(await signIn({ token: ADMIN_TOKEN, name: 'Li' }));
      expect((await plane.askBare('/admin/logout', { headers: { cookie } })).text).to.contain('console:Li');
      const answer = await plane.askBare('/admin/logout', { method: 'POST', headers: { cookie } });
      expect(answer.headers.get('location')).to.equal('/admin/login');
      expect(answer.headers.get('set-cookie'))
        .to.match(/^rooftally_session=;/)
        .and.to.contain('1970');
    });
  });

  describe('by session', () => {
    const reads = (cookie: string) => plane.askBare('/admin/api/v1/stages', { headers: { cookie } });

    it('lets in a session that was sealed with this token and is not over', async () => {
      expect((await reads(`other=1; ${sealed('Li', Date.now() + HOUR_MS)}; more=2`)).status).to.equal(200);
    });

    for (const [what, cookie] of Object.entries({
      'that is over': sealed('', Date.now() - 1),
      'sealed with another token': sealed('', Date.now() + HOUR_MS, 'another-admin-token-0123'),
      'with a later end than was sealed': sealed('', 1).replace('=1.', `=${Date.now() + HOUR_MS}.`),
      'with another name than was sealed': sealed('Li', 9e15).replace(
        Buffer.from('Li').toString('base64url'),
        Buffer.from('Wu').toString('base64url'),
      ),
      'without a signature': `rooftally_session=${Date.now() + HOUR_MS}.`,
      'with an empty signature': `rooftally_session=${Date.now() + HOUR_MS}..`,
      'that is rubbish': 'rooftally_session=%00%ff...',
      'that is empty': 'rooftally_session=',
      'without end': sealed('', Number.NaN),
    })) {
      it(`refuses one ${what}`, async () => {
        isProblem(await reads(cookie), 401, 'UNAUTHENTICATED');
      });
    }

    describe('changes', () => {
      const cookie = sealed('Li', Date.now() + HOUR_MS);

      it('are taken from our own pages', async () => {
        expect((await pauseAs({ cookie, 'sec-fetch-site': 'same-origin' })).status).to.equal(200);
        expect((await pauseAs({ cookie, origin: plane.url })).status).to.equal(200);
      });

      for (const [what, headers] of Object.entries({
        'another site': { 'sec-fetch-site': 'cross-site' },
        'a neighbouring site': { 'sec-fetch-site': 'same-site' },
        'another site, whatever origin it claims': { 'sec-fetch-site': 'cross-site', origin: 'ours' },
        'another origin': { origin: 'https://evil.example' },
        'no origin that has a name': { origin: 'null' },
        nowhere: {},
      })) {
        it(`are refused from ${what}`, async () => {
          const given: Record<string, string> = { ...headers };
          if (given.origin === 'ours') given.origin = plane.url;
          isProblem(await pauseAs({ cookie, ...given }), 403, 'FOREIGN_ORIGIN');
          await nothingChanged();
        });
      }
    });
  });
});
