import { expect } from 'chai';
import { isLater, type OrderNumber } from '../../src/domain/order-number.ts';

describe('order numbers', () => {
  const table: [
    what: string,
    left: [version: string, accept: string],
    right: [string, string],
    later: boolean,
  ][] = [
    ['a higher accept number', ['0', '2'], ['0', '1'], true],
    ['a lower accept number', ['0', '1'], ['0', '2'], false],
    ['itself', ['0', '1'], ['0', '1'], false],
    ['a higher version that was accepted earlier', ['2', '1'], ['1', '9'], true],
    ['a lower version that was accepted later', ['1', '9'], ['2', '1'], false],
    ['the same version, accepted later', ['3', '5'], ['3', '4'], true],
    ['numbers, not text', ['0', '10'], ['0', '9'], true],
    ['versions as numbers, not text', ['10', '1'], ['9', '1'], true],
    ['what a binary float cannot tell apart', ['9007199254740993', '1'], ['9007199254740992', '2'], true],
  ];
  const order = ([dataVersion, acceptNo]: [string, string]): OrderNumber => ({ dataVersion, acceptNo });
  for (const [what, left, right, later] of table) {
    it(`STA-11 ${what}: ${later ? 'later' : 'not later'}`, () => {
      expect(isLater(order(left), order(right))).to.equal(later);
    });
  }
});
