/** A partner as people see it, and what of it is written into the audit. */
import { route } from '../../queues/route.ts';
import { isoInstant } from '../store/instant.ts';
import type { PartnerRow, PartnerSettings } from '../store/partners.ts';

/** Caps as they are in effect at every stage (ENG-5). */
export function partnerView(partner: PartnerRow) {
  return {
    partnerOrgId: partner.partnerOrgId,
    orgCode: partner.orgCode,
    name: partner.name,
    paymentFlow: partner.paymentFlow,
    versioned: partner.versioned,
    tolerance: partner.tolerance,
    paused: partner.paused,
    caps: Object.fromEntries(
      route.map(({ stage, capDefault }) => [stage, partner.caps[stage] ?? capDefault]),
    ),
    createTime: isoInstant(partner.createTime),
    updateTime: isoInstant(partner.updateTime),
  };
}

export function settingsOf({ paused, caps, paymentFlow, tolerance }: PartnerSettings): PartnerSettings {
  return { paused, caps, paymentFlow, tolerance };
}
