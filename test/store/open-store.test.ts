import { expect } from 'chai';
import { mikroOrmOptions } from '../../config/mikro-orm.config.ts';
import { Failure } from '../../src/errors.ts';
import { findFreePort } from '../../src/stack/ports.ts';
import { closeStore, openStore } from '../../src/store/open-store.ts';
import { type Link, openLink } from '../support/link.ts';

const given = () => new URL(process.env.DATABASE_URL!);
const open = (url: URL, patienceMs = 0) =>
  openStore(mikroOrmOptions({ databaseUrl: url.href, poolMax: 2 }), {}, { patienceMs });
const refusalOf = (url: URL): Promise<Failure> =>
  open(url).then(
    () => expect.fail('it was opened'),
    (error) => error as Failure,
  );

describe('store: opening', () => {
  let link: Link | null = null;
  after(() => link?.close());

  it('a database that does not answer is named as that, with what to do, and nothing is left open', async () => {
    const url = given();
    url.port = String(await findFreePort());
    const refusal = await refusalOf(url);
    expect(refusal).to.be.instanceOf(Failure);
    expect(refusal.code).to.equal('DATABASE_NOT_READY');
    expect(refusal.message).to.match(/does not answer.*ECONNREFUSED.*start it, or correct DATABASE_URL/);
    expect(refusal.message).to.not.contain(url.password);
  });

  it('a database that refuses who asks is named as that', async () => {
    const stranger = given();
    stranger.password = 'not-the-password';
    const refusal = await refusalOf(stranger);
    expect(refusal).to.be.instanceOf(Failure);
    expect(refusal.code).to.equal('DATABASE_NOT_READY');
    expect(refusal.message).to.match(/refuses.*correct DATABASE_URL/);
  });

  it('a database that comes up a moment later is waited for', async () => {
    link = await openLink(process.env.DATABASE_URL!);
    link.cut();
    const opening = open(new URL(link.url), 10_000);
    setTimeout(() => link!.mend(), 700);
    const store = await opening;
    expect(await store.many('SELECT 1 one')).to.have.length(1);
    await closeStore(store);
  });
});
