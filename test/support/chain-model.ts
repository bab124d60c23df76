/**
 * What becomes of pushed bills, in plain memory, as the rules have it: receipts (DEC-16), who wins (STA-11), what a locked
 * month blocks (STA-9, DEC-19), and in the end amounts, differences, what is payable and where each row is. In cents.
 */

export const STATIONS = 3;
export const MONTHS = ['2026-01', '2026-02'];

export interface Amounts {
  readonly rent: number;
  readonly deduction: number;
  readonly freeze: number;
}

export interface PartnerPlan {
  readonly enabled: boolean;
  readonly versioned: boolean;
  /** Our own bills, by station and month; null where we have none. */
  readonly ours: readonly (readonly (Amounts | null)[])[];
  readonly snapshots: readonly (readonly boolean[])[];
}

/** The first station of both partners is one roof; the last of the second partner is not known to us. */
export function platformOf(partner: number, station: number): string | null {
  if (station === 0) return 'shared';
  return partner === 1 && station === STATIONS - 1 ? null : `${partner}/${station}`;
}

export interface RowPlan extends Amounts {
  readonly station: number;
  readonly month: number;
  readonly dataVersion: number;
  readonly flaw: 'none' | 'bad rent' | 'unknown station';
}

export interface ModelRow extends RowPlan {
  readonly partner: number;
  readonly push: number;
  /** Of its push, among the partner's pushes. */
  readonly acceptNo: number;
  receipt: string;
  place: string | null;
}

/** One station of one push: all or nothing. */
export interface Unit {
  readonly partner: number;
  readonly station: number;
  readonly push: number;
  readonly rows: readonly ModelRow[];
  state: 'waits' | 'committed' | 'failed';
}

export interface ModelBill {
  readonly row: ModelRow;
  verdict: 'NOT_VERIFIED' | 'VERIFIED' | 'UNQUALIFIED';
}

export class ChainModel {
  readonly partners: readonly PartnerPlan[];
  readonly rows: ModelRow[] = [];
  readonly units: Unit[] = [];
  /** By partner, station and month. */
  readonly bills = new Map<string, ModelBill>();
  readonly locks = new Set<string>();
  #acceptNos: number[];

  constructor(partners: readonly PartnerPlan[]) {
    this.partners = partners;
    this.#acceptNos = partners.map(() => 0);
  }

  /** @returns the receipts in the order of the rows; nothing is kept of a push without an accepted row (ING-5) */
  push(partner: number, push: number, plans: readonly RowPlan[]): readonly string[] {
    const acceptNo = this.#acceptNos[partner]! + 1;
    const rows = plans.map(
      (plan): ModelRow => ({ ...plan, partner, push, acceptNo, receipt: '', place: null }),
    );
    const taken = new Set<string>();
    for (const row of rows) {
      row.receipt = this.#judge(row, taken);
      if (row.receipt === 'ACCEPTED') taken.add(keyOf(row));
      else row.place = row.receipt === 'PAYMENT_LOCKED' ? 'LOCKED' : 'INVALID';
    }
    if (taken.size === 0) return rows.map((row) => row.receipt);
    this.#acceptNos[partner] = acceptNo;
    this.rows.push(...rows);
    const accepted = rows.filter((row) => row.receipt === 'ACCEPTED');
    for (const [station, own] of Map.groupBy(accepted, (row) => row.station))
      this.units.push({ partner, station, push, rows: own, state: 'waits' });
    return rows.map((row) => row.receipt);
  }

  #judge(row: ModelRow, taken: ReadonlySet<string>): string {
    if (row.flaw === 'bad rent') return 'INVALID_FIELD';
    if (row.flaw === 'unknown station') return 'UNKNOWN_STATION';
    if (taken.has(keyOf(row))) return 'DUPLICATE_IN_PUSH';
    return this.#isLocked(row) ? 'PAYMENT_LOCKED' : 'ACCEPTED';
  }

  #isLocked({ partner, station, month }: ModelRow): boolean {
    return this.locks.has(`${platformOf(partner, station)}:${month}`);
  }

  /** A station's turn: rows that have lost are stale; a locked month among the others blocks all of it. */
  work(unit: Unit): void {
    const lost = unit.rows.filter((row) => this.#hasLost(row));
    const written = unit.rows.filter((row) => !lost.includes(row));
    if (written.some((row) => this.#isLocked(row))) {
      unit.state = 'failed';
      for (const row of unit.rows) row.place = 'STATION_FAILED';
      return;
    }
    unit.state = 'committed';
    for (const row of lost) row.place = 'STALE';
    for (const row of written) {
      row.place = null;
      this.bills.set(keyOf(row), { row, verdict: 'NOT_VERIFIED' });
    }
  }

  #hasLost(row: ModelRow): boolean {
    const standing = this.bills.get(keyOf(row))?.row;
    if (standing === undefined) return false;
    if (this.partners[row.partner]!.versioned && standing.dataVersion !== row.dataVersion)
      return standing.dataVersion > row.dataVersion;
    return standing.acceptNo > row.acceptNo;
  }

  /** A person has failed stations tried again. */
  reopen(partner: number): Unit[] {
    const failed = this.units.filter((unit) => unit.partner === partner && unit.state === 'failed');
    for (const unit of failed) unit.state = 'waits';
    return failed;
  }

  /** Where the row may be once nothing is under way: one place, but for committed rows whose bill another push took. */
  placesAtRest(row: ModelRow): readonly string[] {
    if (row.place !== null) return [row.place];
    const end = this.#endOf(row);
    return this.bills.get(keyOf(row))?.row === row ? [end] : [end, 'SUPERSEDED'];
  }

  #endOf({ partner, station, month }: ModelRow): string {
    const plan = this.partners[partner]!;
    if (platformOf(partner, station) === null) return 'DIFF_FAILED';
    if (!plan.enabled) return 'PAYMENT_DISABLED';
    return plan.snapshots[station]![month] ? 'CURRENT' : 'NO_SNAPSHOT';
  }

  /** Difference and projection of a bill (DIF-7 with tolerance 0, ACC-8); null where the station is not known to us. */
  ledgerOf({ row, verdict }: ModelBill) {
    const plan = this.partners[row.partner]!;
    if (platformOf(row.partner, row.station) === null) return null;
    const ours = plan.ours[row.station]![row.month] ?? null;
    const differs = (name: keyof Amounts) => row[name] - (ours?.[name] ?? 0);
    const equal = differs('rent') === 0 && differs('deduction') === 0 && differs('freeze') === 0;
    const remainder = Math.max(0, row.rent - row.deduction - row.freeze);
    const [paymentStatus, payable] = !plan.enabled
      ? ['NOT_APPLICABLE', 0]
      : verdict !== 'VERIFIED'
        ? [verdict, 0]
        : [remainder === 0 ? 'SETTLED' : 'PAYABLE', remainder];
    return {
      status: ours === null ? 'PARTNER_ONLY' : equal ? 'MATCHED' : 'MISMATCHED',
      partnerRent: row.rent,
      diffRent: differs('rent'),
      diffDeduction: differs('deduction'),
      paymentStatus,
      payable,
    };
  }
}

export function keyOf({ partner, station, month }: Pick<ModelRow, 'partner' | 'station' | 'month'>): string {
  return `${partner}/${station}/${month}`;
}
