/** Who pushes, with which key, and which of its stations is which of ours (ING-1, DEC-3). */
import { defineEntity } from '@mikro-orm/core';
import { createdAt, digest, flag, id, instant, json, money, month, text } from './columns.ts';

export const Partner = defineEntity({
  name: 'Partner',
  tableName: 'partner',
  uniques: [{ name: 'uk_partner_org_code', properties: ['orgCode'] }],
  properties: {
    partnerOrgId: id().primary().autoincrement(false),
    orgCode: text(32),
    name: text(120),
    /** ENABLED, DISABLED, or null: unresolved (DIF-6). */
    paymentFlow: text(16).nullable(),
    /** Each row must carry a dataVersion (STA-11). */
    versioned: flag(),
    tolerance: money().default('0.00'),
    /** The last accept_no given out (ING-6). */
    acceptSeq: id().defaultRaw('0'),
    paused: flag(),
    /** Caps that differ from the stages' defaults, by stage. */
    caps: json().nullable(),
    createTime: createdAt(),
    updateTime: createdAt(),
  },
});

export const PartnerCredential = defineEntity({
  name: 'PartnerCredential',
  tableName: 'partner_credential',
  uniques: [{ name: 'uk_credential_key_hash', properties: ['keyHash'] }],
  indexes: [{ name: 'idx_credential_partner', properties: ['partnerOrgId'] }],
  properties: {
    id: id().primary(),
    partnerOrgId: id(),
    /** SHA-256 of the key; the key itself is shown once and never kept. */
    keyHash: digest(),
    label: text(64),
    createTime: createdAt(),
    revokedAt: instant().nullable(),
    /** NONE, OPTIONAL, REQUIRED (ING-10). */
    signing: text(16).default('NONE'),
    /** The signing secret, encrypted under a key of the configuration. */
    signingSecret: text(255).nullable(),
  },
});

/** A nonce is spent by the one insert that succeeds, before its request is looked at any further (ING-10). */
export const RequestNonce = defineEntity({
  name: 'RequestNonce',
  tableName: 'request_nonce',
  uniques: [{ name: 'uk_nonce_credential', properties: ['credentialId', 'nonce'] }],
  indexes: [{ name: 'idx_nonce_expires', properties: ['expiresAt'] }],
  properties: {
    id: id().primary(),
    credentialId: id(),
    nonce: text(64),
    /** From here on its signature is too old anyway. */
    expiresAt: instant(),
  },
});

export const PropStation = defineEntity({
  name: 'PropStation',
  tableName: 'prop_station',
  properties: {
    id: id().primary().autoincrement(false),
    stationNo: text(64),
    name: text(120),
  },
});

export const StationMapping = defineEntity({
  name: 'StationMapping',
  tableName: 'station_mapping',
  uniques: [
    { name: 'uk_mapping_partner_station', properties: ['partnerOrgId', 'partnerStationNo'] },
    { name: 'uk_mapping_partner_platform', properties: ['partnerOrgId', 'platformStationId'] },
  ],
  indexes: [{ name: 'idx_mapping_platform', properties: ['platformStationId'] }],
  properties: {
    id: id().primary(),
    partnerOrgId: id(),
    partnerStationNo: text(64),
    partnerStationId: text(64),
    /** Null: bills commit, their difference fails alone with NO_PLATFORM_STATION (DEC-3). */
    platformStationId: id().nullable(),
    projectCompanyId: id(),
    projectCompanyName: text(120),
    activeFromMonth: month(),
    activeToMonth: month().nullable(),
    updateTime: createdAt(),
  },
});
