import { expect } from 'chai';
import { lengthOf, pointerTo, refusal } from '../../src/domain/refusal.ts';

describe('a refusal', () => {
  it('ING-3 points by RFC 6901', () => {
    expect(pointerTo(pointerTo('/stations/0', 'a/b'), 'c~d')).to.equal('/stations/0/a~1b/c~0d');
  });

  it('ING-3 a pointer too long for its column points at the parent', () => {
    expect(refusal('INVALID_FIELD', `/stations/0/${'x'.repeat(300)}`, '').pointer).to.equal('/stations/0');
    expect(refusal('INVALID_FIELD', '/stations/0/\ud800', '').pointer).to.equal('/stations/0');
  });

  it('ING-3 a message too long for its column is cut between characters', () => {
    const { message } = refusal('INVALID_FIELD', '', '😀'.repeat(600));
    expect([lengthOf(message), message.endsWith('😀…'), message.isWellFormed()]).to.deep.equal([
      500,
      true,
      true,
    ]);
  });

  it('counts characters as the database does', () => {
    expect(['', 'ab', '电', '😀', '\ud800', '\ud800a'].map(lengthOf)).to.deep.equal([0, 2, 1, 1, 1, 2]);
  });
});
