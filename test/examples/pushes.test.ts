import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Expectation } from '../../src/cli/demo/expectation.ts';
import { moneyText, sumOf } from '../../src/domain/money.ts';
import { isMonth, shanghaiMonth } from '../../src/domain/month.ts';

const FOLDER = join(import.meta.dirname, '../../examples');
const read = (path: string) => JSON.parse(readFileSync(join(FOLDER, path), 'utf8'));
const expected: Expectation = read('expected.json');

interface Bill {
  billYearMonth: string;
  rent: string;
  dataVersion?: number;
  [field: string]: unknown;
}
interface Station {
  partnerStationNo: string;
  partnerStationId?: string;
  bills: Bill[];
}

const AMOUNT = /^[0-9]{1,16}(\.[0-9]{1,2})?$/;
const AMOUNT_FIELDS = ['settlementAmount', 'rent', 'preRent', 'freezeAmount', 'deductionAmount'];

/** As the API counts it: a rent that is no valid amount counts 0 (DEC-17). */
const counted = (bill: Bill) => (AMOUNT.test(bill.rent) ? bill.rent : '0');

function faultsOf(bill: Bill): string[] {
  const faults = AMOUNT_FIELDS.filter(
    (field) => bill[field] !== undefined && !AMOUNT.test(String(bill[field])),
  );
  if (!isMonth(bill.billYearMonth) || bill.billYearMonth > shanghaiMonth(Date.now()))
    faults.push('billYearMonth');
  return faults;
}

for (const push of expected.pushes) {
  describe(`examples/pushes/${push.file}`, () => {
    const body = read(`pushes/${push.file}`);
    const stations: Station[] = body.stations;
    const rows = stations.flatMap((station) => station.bills.map((bill) => ({ station, bill })));
    const refused = new Map(push.refused.map((row) => [row.index, row.reason]));
    const mappings = new Map<string, { partnerStationId: string }>(
      read('seed/station-mappings.json').map((mapping: Station) => [mapping.partnerStationNo, mapping]),
    );

    it('ING-9 carries control totals that add up', () => {
      expect(body.totalCount).to.equal(rows.length);
      expect(body.totalAmount).to.equal(moneyText(sumOf(rows.map((row) => counted(row.bill)))));
    });

    it('COV-0 is expected to end with its own totals, before and after the repair', () => {
      for (const places of [push.places, push.placesAfterRepair]) {
        const sums = Object.values(places);
        expect(sums.reduce((sum, place) => sum + place.rows, 0)).to.equal(body.totalCount);
        expect(moneyText(sumOf(sums.map((place) => place.amount)))).to.equal(body.totalAmount);
      }
    });

    it('DEC-1 DEC-2 has a fault of form in exactly the rows that are expected to be refused for it', () => {
      const faulty = rows.flatMap(({ bill }, index) => (faultsOf(bill).length > 0 ? [index] : []));
      const invalid = [...refused].filter(([, reason]) => reason === 'INVALID_FIELD').map(([index]) => index);
      expect(faulty).to.deep.equal(invalid);
    });

    it('DEC-3 names mapped stations by their own ids, but for the one that is expected to be unknown', () => {
      for (const [index, { station }] of rows.entries()) {
        const mapping = mappings.get(station.partnerStationNo);
        if (mapping === undefined) expect(refused.get(index)).to.equal('UNKNOWN_STATION');
        else expect(station.partnerStationId).to.equal(mapping.partnerStationId);
      }
    });

    it('STA-11 gives each row a dataVersion where the partner is versioned, and none elsewhere', () => {
      const isVersioned = push.orgCode === 'HEGUANG';
      expect(rows.every(({ bill }) => (bill.dataVersion !== undefined) === isVersioned)).to.equal(true);
    });
  });
}

describe('examples/expected.json', () => {
  it('has at least nine in ten accepted rows of payment-enabled partners end CURRENT, before any repair', () => {
    const enabled = expected.pushes.filter((push) => push.paymentFlow === 'ENABLED');
    const current = enabled.reduce((sum, push) => sum + (push.places.CURRENT?.rows ?? 0), 0);
    const accepted = enabled.reduce((sum, push) => sum + push.accepted.rows, 0);
    expect(current / accepted).to.be.at.least(0.9);
  });

  it('COV-2 has every side road occur', () => {
    const places = new Set(expected.pushes.flatMap((push) => Object.keys(push.places)));
    const sideRoads = ['INVALID', 'LOCKED', 'STATION_FAILED', 'STALE', 'SUPERSEDED', 'DIFF_FAILED'];
    expect([...places]).to.include.members([
      ...sideRoads,
      'PAYMENT_DISABLED',
      'SKIPPED',
      'NO_SNAPSHOT',
      'CURRENT',
    ]);
  });
});
