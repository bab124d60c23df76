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

  it('ING-10 names every route there is, and what it names answers', async () => {
    const { paths } = (await api.ask('/openapi.json')).body;
    for (const [path, methods] of Object.entries(paths as Record<string, object>)) {
      for (const method of Object.keys(methods)) {
        const answer = await api.ask(path.replace('{pushId}', '1'), { method: method.toUpperCase() });
        expect(answer.status, `${method} ${path} without a key`).to.equal(401);
      }
      expect((await api.ask(path.replace('{pushId}', '1'), { method: 'PATCH' })).status).to.equal(401);
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
