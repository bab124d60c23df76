import { expect } from 'chai';
import { readIdentity, shownIdentity } from '../../src/domain/request-identity.ts';

describe('the identity of a request', () => {
  const table: [what: string, key: string | undefined, requestId: string | undefined, expected: object][] = [
    ['its own header', 'k-1', undefined, { key: 'k-1' }],
    ['the alias', undefined, 'r-1', { key: 'r-1' }],
    ['both, the same', 'k-1', 'k-1', { key: 'k-1' }],
    ['200 characters', 'x'.repeat(200), undefined, { key: 'x'.repeat(200) }],
  ];
  for (const [what, key, requestId, expected] of table) {
    it(`ING-2 ${what}`, () => {
      expect(readIdentity(key, requestId)).to.deep.equal(expected);
    });
  }

  const faults: [what: string, key: string | undefined, requestId: string | undefined, fault: string][] = [
    ['none', undefined, undefined, 'IDENTITY_MISSING'],
    ['blank', ' ', undefined, 'IDENTITY_MISSING'],
    ['both, different', 'k-1', 'k-2', 'IDENTITY_CONFLICT'],
    ['201 characters', 'x'.repeat(201), undefined, 'IDENTITY_MALFORMED'],
    ['a blank inside', 'a b', undefined, 'IDENTITY_MALFORMED'],
    ['beyond ASCII', 'schlüssel', undefined, 'IDENTITY_MALFORMED'],
  ];
  for (const [what, key, requestId, fault] of faults) {
    it(`ING-2 ${what}: ${fault}`, () => {
      expect(readIdentity(key, requestId)).to.include({ fault });
    });
  }

  it('ING-2 is shown with the organisation before it', () => {
    expect(shownIdentity('ORG1', 'k-1')).to.equal('ORG1_k-1');
  });
});
