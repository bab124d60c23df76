/** The stages of the system, in the order in which work flows through them (ENG-5, DESIGN). */
export const STAGES = [
  'bill-station',
  'income-diff',
  'account-shard',
  'account-full',
  'bill-snapshot',
  'payment-submit',
  'lock-release',
  'session-cleanup',
] as const;

export type StageName = (typeof STAGES)[number];

export function isStageName(text: string): text is StageName {
  return (STAGES as readonly string[]).includes(text);
}
