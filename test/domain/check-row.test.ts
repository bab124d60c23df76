import { expect } from 'chai';
import { checkBill, checkStation, type RowRules } from '../../src/domain/check-row.ts';
import { JsonNumber, NestedValue, type RawValue, RepeatedValue } from '../../src/domain/raw-value.ts';

const RULES: RowRules = { strict: true, versioned: false, currentMonth: '2026-11' };
const BILL = '/stations/0/bills/0';

type Fields = Record<string, RawValue>;
const number = (text: string) => new JsonNumber(text);

function bill(fields: Fields, rules: Partial<RowRules> = {}) {
  const raw = new Map(Object.entries({ billYearMonth: '2026-05', rent: '100.00', ...fields }));
  return checkBill(raw, BILL, { ...RULES, ...rules });
}

function without(field: string): Fields {
  const fields: Fields = { billYearMonth: '2026-05', rent: '100.00' };
  delete fields[field];
  return fields;
}

describe('a pushed bill by itself', () => {
  it('DEC-1 the shortest right bill has a month and a rent; all else is stored null and not supplement', () => {
    const checked = bill({});
    expect(checked.refusal).to.equal(null);
    const { billYearMonth, rent, isSupplement, ...rest } = checked.values;
    expect([billYearMonth, rent, isSupplement]).to.deep.equal(['2026-05', '100.00', 0]);
    expect(new Set(Object.values(rest))).to.deep.equal(new Set([null]));
  });

  it('DEC-1 DEC-17 the fullest right bill is normalised', () => {
    const checked = bill({
      settlementAmount: number('1000'),
      shareRatio: '0.85',
      period: number('3'),
      sharingBlockCount: number('0'),
      unitPrice: number('0.355'),
      rent: number('120.5'),
      preRent: '0',
      freezeAmount: null,
      deductionAmount: '00.10',
      remark: '',
      reason: '月度',
      settlementBatchNo: 'B1',
      isSupplement: true,
      dataVersion: number('9007199254740991'),
      rowId: 'r-1',
    });
    expect(checked.refusal).to.equal(null);
    expect(checked.values).to.deep.equal({
      billYearMonth: '2026-05',
      settlementAmount: '1000.00',
      shareRatio: '0.850000',
      period: 3,
      sharingBlockCount: 0,
      unitPrice: '0.355000',
      rent: '120.50',
      preRent: '0.00',
      freezeAmount: null,
      deductionAmount: '0.10',
      remark: '',
      reason: '月度',
      settlementBatchNo: 'B1',
      isSupplement: 1,
      dataVersion: 9007199254740991,
      rowId: 'r-1',
    });
  });

  const wrong: [why: string, field: string, value: RawValue][] = [
    ['negative', 'rent', '-1.00'],
    ['a negative number', 'rent', number('-1')],
    ['three decimals', 'rent', number('1.005')],
    ['an exponent', 'rent', number('1e2')],
    ['a word', 'rent', 'hundred'],
    ['empty', 'rent', ''],
    ['true', 'rent', true],
    ['an object', 'rent', new NestedValue('object')],
    ['named twice', 'rent', new RepeatedValue()],
    ['null although required', 'rent', null],
    ['seventeen digits', 'settlementAmount', '12345678901234567'],
    ['negative', 'preRent', '-0.01'],
    ['blanks', 'freezeAmount', ' 1'],
    ['a sign', 'deductionAmount', '+1'],
    ['above one', 'shareRatio', '1.1'],
    ['seven decimals', 'unitPrice', '0.1234567'],
    ['a fraction', 'period', number('1.0')],
    ['negative', 'period', number('-1')],
    ['a text', 'period', '3'],
    ['too large for its column', 'sharingBlockCount', number('2147483648')],
    ['zero', 'dataVersion', number('0')],
    ['2^53', 'dataVersion', number('9007199254740992')],
    ['sixteen digits beyond 2^53', 'dataVersion', number('9999999999999999')],
    ['a word for a flag', 'isSupplement', 'true'],
    ['a number for a text', 'remark', number('1')],
    ['256 characters', 'remark', 'x'.repeat(256)],
    ['256 characters', 'reason', 'x'.repeat(256)],
    ['65 characters', 'settlementBatchNo', 'x'.repeat(65)],
    ['65 characters', 'rowId', 'x'.repeat(65)],
    ['half a surrogate pair', 'remark', 'a\ud800'],
    ['no month', 'billYearMonth', '2026-13'],
    ['no month', 'billYearMonth', '2026-5'],
    ['no month', 'billYearMonth', '202605'],
    ['a day', 'billYearMonth', '2026-05-01'],
    ['blanks', 'billYearMonth', '2026-05 '],
    ['another script', 'billYearMonth', '２０２６-05'],
    ['before 2010', 'billYearMonth', '2009-12'],
    ['the next month', 'billYearMonth', '2026-12'],
  ];
  for (const [why, field, value] of wrong) {
    it(`ING-3 DEC-1 DEC-2 ${field}, ${why}: refused, with a pointer to it and what to send`, () => {
      const { refusal } = bill({ [field]: value });
      expect(refusal).to.include({ reason: 'INVALID_FIELD', pointer: `${BILL}/${field}` });
      expect(refusal?.message).to.match(new RegExp(`^(Send|Add) ${field}\\b`));
    });
  }

  it('DEC-1 lengths count characters, not code units', () => {
    expect(bill({ remark: '😀'.repeat(255) }).refusal).to.equal(null);
    expect(bill({ remark: '😀'.repeat(256) }).refusal).to.not.equal(null);
  });

  it('DEC-2 the first and the current month are taken', () => {
    expect(bill({ billYearMonth: '2010-01' }).refusal).to.equal(null);
    expect(bill({ billYearMonth: '2026-11' }).refusal).to.equal(null);
  });

  for (const field of ['billYearMonth', 'rent']) {
    it(`DEC-1 a bill without ${field} is asked for it`, () => {
      const { refusal } = checkBill(new Map(Object.entries(without(field))), BILL, RULES);
      expect(refusal).to.include({ reason: 'INVALID_FIELD', pointer: `${BILL}/${field}` });
      expect(refusal?.message).to.match(new RegExp(`^Add ${field}: it is required`));
    });
  }

  it('ING-3 what is no object is refused as a whole', () => {
    const checked = checkBill(null, BILL, RULES);
    expect(checked.refusal).to.include({ reason: 'INVALID_FIELD', pointer: BILL });
    expect(checked.rentReadable).to.equal(false);
  });

  it('DEC-16 of several faults the first field decides', () => {
    expect(bill({ rent: 'x', settlementAmount: 'x', rowId: number('1') }).refusal?.pointer).to.equal(
      `${BILL}/settlementAmount`,
    );
  });

  it('DEC-1 unknown fields are named and refused; else ignored and counted', () => {
    const strict = bill({ colour: 'red', 'a/b~c': true });
    expect(strict.refusal).to.include({ reason: 'INVALID_FIELD', pointer: `${BILL}/a~1b~0c` });
    expect(strict.refusal?.message).to.contain('"a/b~c", "colour"');
    const lenient = bill({ colour: 'red', size: null }, { strict: false });
    expect([lenient.refusal, lenient.ignoredCount]).to.deep.equal([null, 2]);
  });

  it('DEC-1 a name like __proto__ is a field like any other', () => {
    const raw = new Map<string, RawValue>([
      ['billYearMonth', '2026-05'],
      ['rent', '1'],
      ['__proto__', 'x'],
    ]);
    expect(checkBill(raw, BILL, RULES).refusal?.pointer).to.equal(`${BILL}/__proto__`);
    raw.delete('__proto__');
    raw.set('constructor', 'x');
    expect(checkBill(raw, BILL, RULES).refusal?.pointer).to.equal(`${BILL}/constructor`);
  });

  it('STA-11 a versioned partner must send a dataVersion, another may', () => {
    const missing = bill({}, { versioned: true });
    expect(missing.refusal).to.include({ reason: 'INVALID_FIELD', pointer: `${BILL}/dataVersion` });
    expect(bill({ dataVersion: number('7') }, { versioned: true }).refusal).to.equal(null);
    expect(bill({ dataVersion: number('7') }).refusal).to.equal(null);
  });

  it('DEC-17 a refused bill keeps what is right in it; a rent that is no amount counts nothing', () => {
    const checked = bill({ billYearMonth: 'May', rent: '5', rowId: 'r-9' });
    expect(checked.values).to.include({ billYearMonth: null, rent: '5.00', rowId: 'r-9' });
    expect([checked.shownMonth, checked.shownRowId, checked.rentReadable]).to.deep.equal([
      'May',
      'r-9',
      true,
    ]);
    expect(bill({ rent: '-5' }).rentReadable).to.equal(false);
  });

  it('ING-3 a receipt repeats what it can, also a number, and never what would not fit', () => {
    expect(bill({ billYearMonth: number('202605') }).shownMonth).to.equal('202605');
    expect(bill({ billYearMonth: 'x'.repeat(17) }).shownMonth).to.equal(null);
    expect(bill({ rowId: 'a\udc00' }).shownRowId).to.equal(null);
    expect(bill({ rowId: new NestedValue('array') }).shownRowId).to.equal(null);
  });
});

describe('the content of a pushed bill', () => {
  const same: [string, Fields, Fields][] = [
    ['DEC-17 100 and 100.0', { rent: number('100') }, { rent: '100.0' }],
    ['DEC-1 absent and null', {}, { preRent: null }],
    ['DEC-1 not supplement, said or unsaid', {}, { isSupplement: false }],
    ['DEC-17 leading zeros', { rent: '007' }, { rent: '7.00' }],
    ['DEC-17 a wrong amount as number or text', { rent: number('-5.001') }, { rent: '-5.001' }],
  ];
  for (const [what, left, right] of same) {
    it(`ING-2 ${what}: the same`, () => {
      expect(bill(left).content).to.equal(bill(right).content);
    });
  }

  const different: [string, Fields, Fields][] = [
    ['another rent', { rent: '100' }, { rent: '100.01' }],
    ['null and zero', { preRent: null }, { preRent: '0' }],
    ['two wrong rents', { rent: 'x' }, { rent: 'y' }],
    ['a wrong rent and none', { rent: 'x' }, { rent: null }],
    ['a number and its text', { remark: number('1') }, { remark: true }],
    [
      'wrong whole numbers that binary numbers confuse',
      { dataVersion: number('9007199254740993') },
      { dataVersion: number('9007199254740992') },
    ],
    ['another unknown field', { colour: 'red' }, { colour: 'blue' }],
    ['another row id', { rowId: 'a' }, { rowId: 'b' }],
    ['the same value in another field', { remark: 'x' }, { reason: 'x' }],
  ];
  for (const [what, left, right] of different) {
    it(`ING-2 ${what}: other content`, () => {
      expect(bill(left).content).to.not.equal(bill(right).content);
    });
  }

  it('DEC-1 what is ignored is no content', () => {
    expect(bill({ colour: 'red' }, { strict: false }).content).to.equal(bill({}).content);
  });
});

describe('a pushed station by itself', () => {
  const station = (fields: Fields, rules: Partial<RowRules> = {}) =>
    checkStation(new Map(Object.entries(fields)), '/stations/4', { ...RULES, ...rules });

  const wrong: [string, RawValue | undefined][] = [
    ['missing', undefined],
    ['null', null],
    ['empty', ''],
    ['65 characters', 'x'.repeat(65)],
    ['a number', number('12')],
    ['a blank behind it, which the database would not see', 'S-1 '],
    ['a blank before it', ' S-1'],
    ['a tabulator behind it', 'S-1\t'],
    ['a wide blank behind it', 'S-1\u3000'],
    ['nothing but blanks', '  '],
    ['half a surrogate pair', 'S\ud83d'],
    ['named twice', new RepeatedValue()],
  ];
  for (const [why, value] of wrong) {
    it(`DEC-1 partnerStationNo, ${why}: its rows are refused`, () => {
      const { refusal } = station(value === undefined ? {} : { partnerStationNo: value });
      expect(refusal).to.include({ reason: 'INVALID_FIELD', pointer: '/stations/4/partnerStationNo' });
    });
  }

  it('DEC-1 a number of 64 characters, with blanks inside, of any script', () => {
    expect(station({ partnerStationNo: '电'.repeat(64) }).refusal).to.equal(null);
    expect(station({ partnerStationNo: 'S 1' }).refusal).to.equal(null);
  });

  it('DEC-1 the other fields are limited', () => {
    const limits = { partnerStationId: 64, householdName: 64, rentPayMethod: 32 };
    for (const [field, limit] of Object.entries(limits)) {
      expect(station({ partnerStationNo: 'S', [field]: 'x'.repeat(limit) }).refusal).to.equal(null);
      expect(station({ partnerStationNo: 'S', [field]: 'x'.repeat(limit + 1) }).refusal?.pointer).to.equal(
        `/stations/4/${field}`,
      );
    }
  });

  it('DEC-17 an unknown field of a station refuses its rows', () => {
    expect(station({ partnerStationNo: 'S', owner: 'x' }).refusal?.pointer).to.equal('/stations/4/owner');
    expect(station({ partnerStationNo: 'S', owner: 'x' }, { strict: false })).to.include({
      refusal: null,
      ignoredCount: 1,
    });
  });
});
