/**
 * The example's partners and stations, inserted where they are missing, never changed where they are there. So loading
 * twice is loading once, and what somebody has changed since (a mended mapping, a revoked key) stays as it is.
 */
import { createHash } from 'node:crypto';
import { insertMissing } from './insert-missing.ts';
import type { Sql } from './sql.ts';

export interface PartnerSeed {
  readonly partnerOrgId: string;
  readonly orgCode: string;
  readonly name: string;
  readonly paymentFlow: 'ENABLED' | 'DISABLED';
  readonly versioned: boolean;
  readonly tolerance: string;
  /** For the demo alone: it is public, since it is checked in. The database gets its SHA-256. */
  readonly demoKey: string;
}

export interface PlatformStationSeed {
  readonly id: string;
  readonly stationNo: string;
  readonly name: string;
}

export interface StationMappingSeed {
  readonly partnerOrgId: string;
  readonly partnerStationNo: string;
  readonly partnerStationId: string;
  readonly platformStationId: string | null;
  readonly projectCompanyId: string;
  readonly projectCompanyName: string;
  readonly activeFromMonth: string;
  readonly activeToMonth: string | null;
}

export async function insertPartners(sql: Sql, seeds: readonly PartnerSeed[]): Promise<void> {
  const columns = ['partner_org_id', 'org_code', 'name', 'payment_flow', 'versioned', 'tolerance'];
  await insertMissing(sql, 'partner', columns, seeds, (seed) => [
    ...[seed.partnerOrgId, seed.orgCode, seed.name, seed.paymentFlow],
    ...[seed.versioned ? 1 : 0, seed.tolerance],
  ]);
}

export async function insertCredentials(sql: Sql, seeds: readonly PartnerSeed[]): Promise<void> {
  const columns = ['partner_org_id', 'key_hash', 'label'];
  await insertMissing(sql, 'partner_credential', columns, seeds, (seed) => [
    seed.partnerOrgId,
    createHash('sha256').update(seed.demoKey).digest('hex'),
    'demo key, public',
  ]);
}

export async function insertPlatformStations(sql: Sql, seeds: readonly PlatformStationSeed[]): Promise<void> {
  const columns = ['id', 'station_no', 'name'];
  await insertMissing(sql, 'prop_station', columns, seeds, (seed) => [seed.id, seed.stationNo, seed.name]);
}

export async function insertMappings(sql: Sql, seeds: readonly StationMappingSeed[]): Promise<void> {
  const columns = [
    ...['partner_org_id', 'partner_station_no', 'partner_station_id', 'platform_station_id'],
    ...['project_company_id', 'project_company_name', 'active_from_month', 'active_to_month'],
  ];
  await insertMissing(sql, 'station_mapping', columns, seeds, (seed) => [
    ...[seed.partnerOrgId, seed.partnerStationNo, seed.partnerStationId, seed.platformStationId],
    ...[seed.projectCompanyId, seed.projectCompanyName, seed.activeFromMonth, seed.activeToMonth],
  ]);
}
