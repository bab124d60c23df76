import { createSecretKey, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { readConfig } from '../../config/config.ts';
import { Failure } from '../../src/errors.ts';
import { openSecret, type SecretKey, sealSecret } from '../../src/http/secret-box.ts';

const keyOf = (name: string): SecretKey => ({ name, key: createSecretKey(randomBytes(32)) });

describe('the box for secrets', () => {
  const secret = randomBytes(32);
  const old = keyOf('old');
  const fresh = keyOf('new');

  it('ING-10 opens what it sealed, also after another key has come to seal', () => {
    const sealed = sealSecret([old], secret, 'row 1');
    expect(openSecret([fresh, old], sealed, 'row 1')).to.deep.equal(secret);
    expect(sealSecret([fresh, old], secret, 'row 1')).to.match(/^v1:new:/);
  });

  it('ING-10 seals the same secret differently each time, and fits the column', () => {
    const sealed = [sealSecret([old], secret, 'row 1'), sealSecret([old], secret, 'row 1')];
    expect(sealed[0]).not.to.equal(sealed[1]);
    expect(sealed[0]!.length).to.be.lessThan(255);
    expect(sealed[0]).not.to.contain(secret.toString('base64'));
  });

  it('ING-10 opens nothing that was moved to another row or changed', () => {
    const sealed = sealSecret([old], secret, 'row 1');
    expect(() => openSecret([old], sealed, 'row 2')).to.throw();
    const changed = `${sealed.slice(0, 12)}${sealed[12] === 'A' ? 'B' : 'A'}${sealed.slice(13)}`;
    expect(() => openSecret([old], changed, 'row 1')).to.throw();
    expect(() => openSecret([{ ...fresh, name: 'old' }], sealed, 'row 1')).to.throw();
  });

  it('ING-10 says which key of the configuration is gone', () => {
    const sealed = sealSecret([old], secret, 'row 1');
    expect(() => openSecret([fresh], sealed, 'row 1')).to.throw(Failure, /"old".*ROOFTALLY_SECRET_KEYS/);
  });
});

describe('the keys of the configuration', () => {
  const read = (text: string) =>
    readConfig({ DATABASE_URL: 'mysql://a@b/c', REDIS_URL: 'redis://a', ROOFTALLY_SECRET_KEYS: text }).signing
      .secretKeys;
  const base64 = () => randomBytes(32).toString('base64');

  it('ING-10 are several with names, and cannot be read from the configuration by accident', () => {
    const [one, two] = [base64(), base64()];
    const keys = read(`2026b:${one}, 2026a:${two}`);
    expect(keys.map(({ name }) => name)).to.deep.equal(['2026b', '2026a']);
    expect(JSON.stringify(keys)).not.to.contain(one);
    expect(openSecret(keys, sealSecret([keys[1]!], Buffer.from('x'), 'c'), 'c').toString()).to.equal('x');
  });

  for (const [what, text] of Object.entries({
    'without a name': base64(),
    'too short': `a:${randomBytes(16).toString('base64')}`,
    'with one name twice': `a:${base64()},a:${base64()}`,
    'with an empty one': `a:${base64()},`,
  })) {
    it(`ING-10 are refused ${what}, and not shown`, () => {
      expect(() => read(text)).to.throw(/ROOFTALLY_SECRET_KEYS: must look like/);
      try {
        read(text);
      } catch (error) {
        expect((error as Error).message).not.to.contain(text);
      }
    });
  }
});
