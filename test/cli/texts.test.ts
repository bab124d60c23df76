import { expect } from 'chai';
import { benchText } from '../../src/cli/bench.ts';
import { invitation } from '../../src/cli/demo/invitation.ts';
import { receiptText } from '../../src/cli/receipt-text.ts';
import { table } from '../../src/cli/table.ts';

describe('texts for the terminal', () => {
  it('ING-3 a reply names each refused row with its sentence, up to twenty', () => {
    const refused = Array.from({ length: 22 }, (_, index) => ({
      index,
      partnerStationNo: 'S1',
      billYearMonth: null,
      rowId: null,
      receipt: 'REFUSED' as const,
      reason: 'INVALID_FIELD',
      pointer: '/stations/0',
      message: 'Send a month.',
    }));
    const lines = receiptText({
      pushId: '7',
      traceId: 't',
      code: 'PARTIALLY_ACCEPTED',
      counts: { requested: 1_022, accepted: 1_000, refused: 22 },
      amounts: { requested: '122640.00', accepted: '120000.00', refused: '2640.00' },
      expiresAt: '',
      receipts: refused,
    });
    expect(lines[0]).to.equal(
      'push 7: PARTIALLY_ACCEPTED, 1,000 of 1,022 rows, 120,000.00 of 122,640.00 CNY accepted',
    );
    expect(lines[1]).to.equal('  refused row 0, S1: Send a month. (INVALID_FIELD)');
    expect(lines.at(-1)).to.equal('  … and 2 more');
  });

  it('a table is as wide as its widest cells', () => {
    expect(table(['a', 'bb'], [['xxx', 'y']])).to.deep.equal(['a    bb', 'xxx  y']);
  });

  it('the demo invites to what is served, and to nothing else', () => {
    const partner = { orgCode: 'O', demoKey: 'demo-key-o' };
    const example = { partners: [partner], stationCount: 1, platformBillCount: 1, snapshotCount: 1 };
    const open = { url: 'http://127.0.0.1:1', adminToken: 'the-token', example } as unknown as Parameters<
      typeof invitation
    >[0];
    const text = invitation(open, [{ title: 'metrics', path: '/metrics' }]).join('\n');
    expect(text).to.contain('http://127.0.0.1:1/metrics').and.to.contain('the-token');
    expect(text).to.contain(
      "curl -sS http://127.0.0.1:1/api/v1/pushes -H 'Authorization: Bearer demo-key-o'",
    );
    expect(text).not.to.contain('/console');
  });

  it('the benchmark says how durable its database was', () => {
    const rates = { raw: 1_000, station: 900, chain: 400 };
    const lines = benchText({
      database: 'MySQL 9.7.4',
      durability: { binaryLog: true, syncBinlog: '1', flushLogAtCommit: '1' },
      stations: 2_000,
      bills: 24_000,
      everyRowCurrent: true,
      stationsPerSecond: rates,
      billsPerSecond: rates,
      ratios: { stationToRaw: 0.9, chainToRaw: 0.4 },
    });
    expect(lines[1]).to.equal('MySQL 9.7.4, binary log, sync_binlog=1, innodb_flush_log_at_trx_commit=1');
    expect(lines.at(-2)).to.match(/^station stage +900 +900 +0\.9$/);
  });
});
