/** The example as files: one record a line, so that a change is a readable difference. */

import { expectation } from './expectation.ts';
import { examplePushes, type PushBody } from './pushes.ts';
import { exampleSeeds } from './seeds.ts';

/** Paths within `examples/` and their texts. */
export function exampleFiles(): Map<string, string> {
  const seeds = exampleSeeds();
  const files = new Map<string, string>([
    ['seed/partners.json', list(seeds.partners)],
    ['seed/platform-stations.json', list(seeds.platformStations)],
    ['seed/station-mappings.json', list(seeds.stationMappings)],
    ['seed/platform-accounts.json', list(seeds.platformAccounts)],
    ['seed/platform-bills.json', list(seeds.platformBills)],
    ['seed/snapshots.json', list(seeds.snapshots)],
    ['seed/bill-locks.json', list(seeds.billLocks)],
    ['seed/cancelled-snapshots.json', list(seeds.cancelledSnapshots)],
    ['expected.json', `${JSON.stringify(expectation(), null, 2)}\n`],
  ]);
  for (const push of examplePushes()) files.set(`pushes/${push.file}`, pushText(push.body));
  return files;
}

function list(records: readonly object[]): string {
  return `[\n${records.map((record) => `  ${JSON.stringify(record)}`).join(',\n')}\n]\n`;
}

function pushText(body: PushBody): string {
  const stations = body.stations.map(({ bills, ...header }) => {
    const lines = bills.map((bill) => `      ${JSON.stringify(bill)}`).join(',\n');
    return `    ${JSON.stringify(header).slice(0, -1)},"bills":[\n${lines}\n    ]}`;
  });
  const totals = `  "totalCount": ${body.totalCount},\n  "totalAmount": "${body.totalAmount}"`;
  return `{\n  "stations": [\n${stations.join(',\n')}\n  ],\n${totals}\n}\n`;
}
