/** What is in the database before anybody pushes. */

import type { PlatformAccountSeed, PlatformBillSeed, SnapshotSeed } from '../../src/store/example-bills.ts';
import type { PartnerSeed, PlatformStationSeed, StationMappingSeed } from '../../src/store/example-data.ts';
import type { BillLockSeed } from '../../src/store/example-locks.ts';
import { MONTHS } from './bills.ts';
import { PARTNERS } from './partners.ts';
import { hasPlatformAccount, platformAccountOf, platformBillsOf } from './platform-side.ts';
import {
  isOneOf,
  LOCKED_BEFORE,
  NO_PLATFORM_STATION,
  NO_SNAPSHOT,
  SNAPSHOT_CANCELLED,
  SNAPSHOT_CANCELLED_REASON,
  type StationMonth,
} from './scenes.ts';
import { type ExampleStation, stationsOf } from './stations.ts';

export interface CancelledSnapshotSeed {
  readonly partnerOrgId: string;
  readonly platformStationId: string;
  readonly reason: string;
}

export interface Seeds {
  readonly partners: readonly PartnerSeed[];
  readonly platformStations: readonly PlatformStationSeed[];
  readonly stationMappings: readonly StationMappingSeed[];
  readonly platformAccounts: readonly PlatformAccountSeed[];
  readonly platformBills: readonly PlatformBillSeed[];
  readonly snapshots: readonly SnapshotSeed[];
  readonly billLocks: readonly BillLockSeed[];
  readonly cancelledSnapshots: readonly CancelledSnapshotSeed[];
}

export function exampleSeeds(): Seeds {
  const stations = PARTNERS.flatMap(stationsOf);
  const mapped = stations.filter((station) => platformStationIdOf(station) !== null);
  const owned = stations.filter(hasPlatformAccount);
  return {
    partners: PARTNERS.map(
      ({ prefix, counties, stationCount, firstPlatformStationId, ...partner }) => partner,
    ),
    platformStations: stations.map(platformStation),
    stationMappings: stations.map(stationMapping),
    platformAccounts: owned.map(platformAccountOf),
    platformBills: owned.flatMap(platformBillsOf),
    snapshots: mapped.map(snapshots),
    billLocks: [billLock(LOCKED_BEFORE)],
    cancelledSnapshots: [cancelledSnapshot()],
  };
}

export function platformStationIdOf(station: ExampleStation): string | null {
  const missing =
    station.partner === NO_PLATFORM_STATION.partner && station.number === NO_PLATFORM_STATION.station;
  return missing ? null : station.platformStationId;
}

export function findStation(place: { partner: StationMonth['partner']; station: number }): ExampleStation {
  return stationsOf(place.partner)[place.station - 1]!;
}

export function billLock(place: StationMonth): BillLockSeed {
  return {
    partnerOrgId: place.partner.partnerOrgId,
    platformStationId: findStation(place).platformStationId,
    billYearMonth: place.month,
  };
}

function platformStation(station: ExampleStation): PlatformStationSeed {
  return {
    id: station.platformStationId,
    stationNo: station.platformStationNo,
    name: station.platformStationName,
  };
}

function stationMapping(station: ExampleStation): StationMappingSeed {
  return {
    partnerOrgId: station.partner.partnerOrgId,
    partnerStationNo: station.partnerStationNo,
    partnerStationId: station.partnerStationId,
    platformStationId: platformStationIdOf(station),
    projectCompanyId: station.projectCompanyId,
    projectCompanyName: station.projectCompanyName,
    activeFromMonth: station.activeFromMonth,
    activeToMonth: null,
  };
}

function snapshots(station: ExampleStation): SnapshotSeed {
  return {
    partnerOrgId: station.partner.partnerOrgId,
    platformStationId: station.platformStationId,
    months: MONTHS.filter((month) => !isOneOf(NO_SNAPSHOT, station.partner.orgCode, station.number, month)),
  };
}

function cancelledSnapshot(): CancelledSnapshotSeed {
  return {
    partnerOrgId: SNAPSHOT_CANCELLED.partner.partnerOrgId,
    platformStationId: findStation(SNAPSHOT_CANCELLED).platformStationId,
    reason: SNAPSHOT_CANCELLED_REASON,
  };
}
