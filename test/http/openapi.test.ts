import { expect } from 'chai';
import type { z } from 'zod';
import { BILL_FIELDS, STATION_FIELDS } from '../../src/domain/pushed-fields.ts';
import {
  acceptedPushSchema,
  completenessSchema,
  coverageSchema,
  dryRunSchema,
  problemSchema,
  pushListSchema,
  receiptSchema,
  rowTracesSchema,
} from '../../src/http/reply-schemas.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { makeBillLock, makeMapping, makePartner } from '../support/factory.ts';
import { type PartnerApi, type PartnerClient, startPartnerApi, stationOf } from '../support/partner-api.ts';

describe('the description of the partner API', () => {
  let database: TestStore;
  let api: PartnerApi;
  let client: PartnerClient;
  let body: object;

  before(async () => {
    database = await openTestStore();
    api = await startPartnerApi(database.store);
    const partner = await makePartner(database.store);
    client = api.as(partner);
    const mapped = await makeMapping(database.store, partner.partnerOrgId);
    await makeBillLock(database.store, { platformStationId: mapped.platformStationId!, month: '2026-04' });
    body = {
      stations: [
        stationOf(mapped.partnerStationNo, ['2026-04', '2026-05', '2026-05']),
        stationOf('x', ['2026-05'], { rent: 'x' }),
      ],
    };
  });
  after(async () => {
    await api.close();
    await database.drop();
  });

  it('ING-10 is OpenAPI 3.1, open to all, and every reference in it leads somewhere', async () => {
    const { status, body: document, text } = await api.ask('/openapi.json');
    expect([status, document.openapi]).to.deep.equal([200, '3.1.0']);
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name!,
    );
    expect(references.length).to.be.greaterThan(10);
    for (const name of references) expect(document.components.schemas, name).to.have.property(name);
  });

  it('ING-1 ING-10 what it names is behind the key, unless it says that it is open', async () => {
    const { paths } = (await api.ask('/openapi.json')).body;
    for (const [path, methods] of Object.entries(
      paths as Record<string, Record<string, { security?: [] }>>,
    )) {
      const at = path.replace('{pushId}', '1');
      const isOpen = Object.values(methods).every(({ security }) => security?.length === 0);
      expect(isOpen).to.equal(!path.startsWith('/api/'));
      for (const method of isOpen ? [] : [...Object.keys(methods), 'PATCH']) {
        const answer = await api.ask(at, { method: method.toUpperCase() });
        expect(answer.status, `${method} ${path} without a key`).to.equal(401);
      }
    }
  });

  it('ING-10 DEC-1 is made from the schemas that validate', async () => {
    const { Push } = (await api.ask('/openapi.json')).body.components.schemas;
    const station = Push.properties.stations.items;
    const bill = station.properties.bills.items;
    expect(Object.keys(bill.properties)).to.deep.equal(Object.keys(BILL_FIELDS));
    expect(Object.keys(station.properties)).to.deep.equal([...Object.keys(STATION_FIELDS), 'bills']);
    expect([bill.required, bill.additionalProperties]).to.deep.equal([['billYearMonth', 'rent'], false]);
    expect(bill.properties.rent).to.deep.include({
      type: ['string', 'number'],
      pattern: '^[0-9]{1,16}(\\.[0-9]{1,2})?$',
    });
  });

  it('ING-10 describes every media type that is read, and no other, and its examples are read', async () => {
    const { post } = (await api.ask('/openapi.json')).body.paths['/api/v1/pushes'];
    const types = Object.keys(post.requestBody.content);
    const refused = await client.push('', { headers: { 'content-type': 'text/plain' } });
    expect(types.join(', ')).to.equal(refused.headers.get('accept'));
    for (const type of ['application/x-ndjson', 'text/csv']) {
      const { example } = post.requestBody.content[type];
      const query = '?dryRun=true&totalCount=1&totalAmount=120';
      const answer = await client.push(example, { query, headers: { 'content-type': type } });
      expect([answer.status, answer.body.counts?.requested], type).to.deep.equal([200, 1]);
    }
    const named = post.parameters.map((one: { name: string }) => one.name);
    expect(named).to.include.members(['totalCount', 'totalAmount', 'Content-Encoding']);
  });

  it('ING-10 DEC-1 a line of NDJSON is a station of JSON, a line of CSV has the fields of both', async () => {
    const { Push, StationLines, BillLines } = (await api.ask('/openapi.json')).body.components.schemas;
    const station = Push.properties.stations.items;
    const { bills, ...stationFields } = station.properties;
    expect(StationLines.items).to.deep.equal(station);
    expect(BillLines.items.properties).to.deep.equal({ ...stationFields, ...bills.items.properties });
    expect([BillLines.items.required, BillLines.items.additionalProperties]).to.deep.equal([
      ['partnerStationNo', 'billYearMonth', 'rent'],
      false,
    ]);
  });

  const check = (schema: z.ZodType, value: unknown) => {
    const parsed = schema.safeParse(value);
    expect(parsed.success ? [] : parsed.error.issues).to.deep.equal([]);
  };

  it('ING-10 the answers are as it says', async () => {
    const accepted = await client.push(body, { identity: 'one' });
    check(acceptedPushSchema, accepted.body);
    check(acceptedPushSchema, (await client.push(body, { identity: 'one' })).body);
    check(acceptedPushSchema, (await client.push({ stations: [] })).body);
    check(dryRunSchema, (await client.push(body, { query: '?dryRun=true' })).body);
    const rejected = await client.push({ stations: [stationOf('x', ['2026-05'])] });
    check(problemSchema, rejected.body);
    for (const receipt of rejected.body.receipts) check(receiptSchema, receipt);
    check(problemSchema, (await client.push('{')).body);
    check(coverageSchema, (await client.get(`/api/v1/pushes/${accepted.body.pushId}`)).body);
    check(rowTracesSchema, (await client.get(`/api/v1/pushes/${accepted.body.pushId}/bills`)).body);
    check(pushListSchema, (await client.get('/api/v1/pushes?limit=1')).body);
    check(completenessSchema, (await client.get('/api/v1/completeness?month=2026-05&show=all')).body);
  });
});
