/** The same world for real: HTTP for pushes, the real stages for work, deaths of workers in between; compared with the model. */
import { expect } from 'chai';
import type { StageName } from '../../src/domain/stage.ts';
import { TaskStatus } from '../../src/domain/task-status.ts';
import { Problem } from '../../src/http/problem.ts';
import { verifyBills } from '../../src/payment/verify-bills.ts';
import type { Store } from '../../src/store/transaction.ts';
import { giveBack } from '../../src/tasks/give-back.ts';
import { runTasks } from '../../src/tasks/run-tasks.ts';
import { takeSlot } from '../../src/tasks/take-slot.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import {
  type Amounts,
  type ChainModel,
  MONTHS,
  type ModelBill,
  type PartnerPlan,
  platformOf,
  type RowPlan,
  STATIONS,
  type Unit,
} from './chain-model.ts';
import { DyingStore } from './dying-store.ts';
import {
  type MadeMapping,
  type MadePartner,
  makeBillLock,
  makeMapping,
  makePlatformAccount,
  makePlatformBill,
  makePropStation,
  makeSnapshot,
  releaseBillLock,
} from './factory.ts';
import type { Answer, PartnerApi } from './partner-api.ts';
import { makeStagedPartner, type Stages } from './stages.ts';

export const CHAIN: readonly StageName[] = ['bill-station', 'income-diff', 'account-shard', 'bill-snapshot'];
const ROUNDS_MAX = 40;
const DYING = 'worker-that-dies';

export class ChainWorld {
  readonly model: ChainModel;
  readonly #stages: Stages;
  readonly #api: PartnerApi;
  readonly #partners: MadePartner[] = [];
  readonly #mappings: MadeMapping[][] = [];
  readonly #platforms = new Map<string, string>();
  readonly #locks = new Map<string, string>();
  /** Of the pushes that were accepted, by the model's number. */
  readonly #pushIds = new Map<number, string>();
  readonly #sent: { readonly partner: number; readonly body: object; readonly answer: Answer }[] = [];
  #pushes = 0;

  constructor(stages: Stages, api: PartnerApi, model: ChainModel) {
    this.#stages = stages;
    this.#api = api;
    this.model = model;
  }

  get #store(): Store {
    return this.#stages.store;
  }

  async make(): Promise<this> {
    for (const [partner, plan] of this.model.partners.entries()) {
      const made = await makeStagedPartner(this.#store, {
        payment_flow: plan.enabled ? 'ENABLED' : 'DISABLED',
        versioned: plan.versioned ? 1 : 0,
      });
      this.#partners.push(made);
      this.#mappings.push([]);
      for (let station = 0; station < STATIONS; station++) await this.#makeStation(partner, plan, station);
    }
    return this;
  }

  async #makeStation(partner: number, plan: PartnerPlan, station: number): Promise<void> {
    const { partnerOrgId } = this.#partners[partner]!;
    const name = platformOf(partner, station);
    const platformStationId = name === null ? null : await this.#platform(name);
    const mapping = await makeMapping(this.#store, partnerOrgId, { platform_station_id: platformStationId });
    this.#mappings[partner]!.push(mapping);
    if (platformStationId === null) return;
    const accountId = await makePlatformAccount(this.#store, { partnerOrgId, platformStationId });
    for (const [at, month] of MONTHS.entries()) {
      const where = { partnerOrgId, platformStationId, month };
      const ours = plan.ours[station]![at];
      if (ours) await makePlatformBill(this.#store, { ...where, accountId }, columnsOf(ours));
      if (plan.snapshots[station]![at]) await makeSnapshot(this.#store, where);
    }
  }

  async #platform(name: string): Promise<string> {
    const id = this.#platforms.get(name) ?? (await makePropStation(this.#store));
    this.#platforms.set(name, id);
    return id;
  }

  async push(partner: number, plans: readonly RowPlan[]): Promise<void> {
    const push = ++this.#pushes;
    const expected = this.model.push(partner, push, plans);
    const body = { stations: plans.map((plan) => this.#entryOf(partner, plan)) };
    const answer = await this.#send(partner, push, body);
    expect(answer.body.receipts.map((one: Receipt) => one.reason ?? one.receipt)).to.deep.equal(expected);
    expect(answer.status).to.equal(expected.includes('ACCEPTED') ? 202 : 422);
    if (answer.status === 202) this.#pushIds.set(push, answer.body.pushId);
    this.#sent[push] = { partner, body, answer };
  }

  /** The same request again: the first answer, and no new work (ING-2). */
  async repeat(choice: number): Promise<void> {
    const accepted = [...this.#pushIds.keys()];
    const push = accepted[choice % accepted.length];
    if (push === undefined) return;
    const { partner, body, answer } = this.#sent[push]!;
    const again = await this.#send(partner, push, body);
    expect([again.status, again.body.pushId, again.body.code]).to.deep.equal([
      202,
      answer.body.pushId,
      'IDEMPOTENCY',
    ]);
  }

  #send(partner: number, push: number, body: object): Promise<Answer> {
    return this.#api
      .as(this.#partners[partner]!)
      .push(body, { identity: `${this.#partners[partner]!.orgCode}-${push}` });
  }

  #entryOf(partner: number, plan: RowPlan) {
    const mapping = this.#mappings[partner]![plan.station]!;
    const { versioned } = this.model.partners[partner]!;
    return {
      partnerStationNo: plan.flaw === 'unknown station' ? 'nobody-knows-it' : mapping.partnerStationNo,
      bills: [
        {
          billYearMonth: MONTHS[plan.month],
          rent: plan.flaw === 'bad rent' ? '-1' : money(plan.rent),
          deductionAmount: money(plan.deduction),
          freezeAmount: money(plan.freeze),
          ...(versioned ? { dataVersion: plan.dataVersion } : {}),
        },
      ],
    };
  }

  /** All that is due at the stage; at the station stage the model does the same work in the same order. */
  async turn(stage: StageName, partner: number): Promise<void> {
    if (stage !== 'bill-station') {
      await this.#stages.turn(stage, this.#orgId(partner));
      return;
    }
    const due = await this.#dueUnits(partner);
    await this.#stages.turn(stage, this.#orgId(partner));
    await this.#follow(due, 'all');
  }

  /** A worker that is gone after so many commits; its slot's lease ends. */
  async kill(stage: StageName, partner: number, commits: number): Promise<void> {
    const due = stage === 'bill-station' ? await this.#dueUnits(partner) : [];
    const store = new DyingStore(this.#store.orm).dieAfter(commits);
    const engine = { ...this.#stages.engine, store, worker: DYING };
    const slot = { stage, partnerOrgId: this.#orgId(partner), slotNo: 1 };
    await takeTurn(engine, this.#stages.handlerOf(stage), slot, { contended: false });
    await this.#store.change('UPDATE stage_slot SET lease_end = SYSDATE(3) WHERE holder = ?', [DYING]);
    await this.#follow(due, 'some');
  }

  /** In the order of the claim. Whatever a dead worker had in hand is first given back, by whoever takes its slot. */
  async #dueUnits(partner: number): Promise<Unit[]> {
    const slot = { stage: 'bill-station', partnerOrgId: this.#orgId(partner), slotNo: 1 } as const;
    const taken = await takeSlot(this.#stages.engine, slot);
    if (taken === null) throw new Error('the slot is held');
    await giveBack(this.#stages.engine, taken.right);
    const rows = await this.#store.many<{ pushId: string; stationNo: string }>(
      `SELECT push_id pushId, task_data->>'$.partnerStationNo' stationNo FROM fi_async_task
        WHERE claimable = 1 AND stage = 'bill-station' AND partner_org_id = ? AND next_execute_time <= NOW(3)
        ORDER BY next_execute_time, retry_count, id`,
      [this.#orgId(partner)],
    );
    return rows.map(({ pushId, stationNo }) => this.#unitOf(pushId, stationNo));
  }

  #unitOf(pushId: string, stationNo: string): Unit {
    const unit = this.model.units.find(
      ({ partner, station, push }) =>
        this.#pushIds.get(push) === pushId &&
        this.#mappings[partner]![station]!.partnerStationNo === stationNo,
    );
    if (unit === undefined)
      throw new Error(`a task for station ${stationNo} of push ${pushId}, which nobody sent`);
    return unit;
  }

  async #follow(due: readonly Unit[], how: 'all' | 'some'): Promise<void> {
    for (const unit of due) {
      const status = await this.#statusOf(unit);
      if (status === TaskStatus.PENDING || status === TaskStatus.RUNNING) {
        expect(how, `station ${unit.station} of push ${unit.push} was left`).to.equal('some');
        continue;
      }
      this.model.work(unit);
      expect(status, `station ${unit.station} of push ${unit.push}`).to.equal(
        unit.state === 'committed' ? TaskStatus.SUCCESS : TaskStatus.FAILED,
      );
    }
  }

  async #statusOf(unit: Unit): Promise<number> {
    const { status } = await this.#store.one<{ status: number }>(
      'SELECT status FROM fi_async_task WHERE task_code = ?',
      [await this.#codeOf(unit)],
    );
    return status;
  }

  async #codeOf({ partner, station, push }: Unit): Promise<string> {
    const { code } = await this.#store.one<{ code: string }>(
      `SELECT task_code code FROM fi_async_task
        WHERE stage = 'bill-station' AND push_id = ? AND task_data->>'$.partnerStationNo' = ?`,
      [this.#pushIds.get(push)!, this.#mappings[partner]![station]!.partnerStationNo],
    );
    return code;
  }

  async lock(partner: number, station: number, month: number): Promise<void> {
    const name = platformOf(partner, station);
    const key = `${name}:${month}`;
    if (name === null || this.#locks.has(key)) return;
    const where = {
      platformStationId: this.#platforms.get(name)!,
      month: MONTHS[month]!,
      partnerOrgId: this.#orgId(partner),
    };
    this.#locks.set(key, await makeBillLock(this.#store, where));
    this.model.locks.add(key);
  }

  async unlock(choice: number): Promise<void> {
    const keys = [...this.#locks.keys()];
    const key = keys[choice % keys.length];
    if (key === undefined) return;
    await releaseBillLock(this.#store, this.#locks.get(key)!);
    this.#locks.delete(key);
    this.model.locks.delete(key);
  }

  async runFailedByHand(partner: number): Promise<void> {
    const codes = await Promise.all(this.model.reopen(partner).map((unit) => this.#codeOf(unit)));
    if (codes.length === 0) return;
    const run = { stage: 'bill-station', taskCodes: codes, businessKeys: null } as const;
    const { items } = await runTasks(this.#stages.engine, run, 0);
    expect(items.map((item) => item.outcome)).to.deep.equal(codes.map(() => 'STILL_WAITING'));
  }

  /** Waiting work of the partner comes in another order, some of it much later. */
  async shuffle(partner: number, salt: number): Promise<void> {
    await this.#store.change(
      `UPDATE fi_async_task SET next_execute_time = NOW(3) + INTERVAL CAST(CRC32(CONCAT(id, '/', ?)) % 1000 AS SIGNED) - 700 MINUTE
        WHERE claimable = 1 AND partner_org_id = ?`,
      [salt, this.#orgId(partner)],
    );
  }

  async #timePasses(): Promise<void> {
    await this.#store.change(
      'UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE claimable = 1 AND next_execute_time > NOW(3)',
    );
  }

  /** Verdicts on all bills as they stand but every so-manieth; refused where the ledger does not speak of them yet. */
  async verify(but: number, verified: boolean): Promise<void> {
    for (const [at, bill] of [...this.model.bills.values()].entries())
      if (at % but !== but - 1) await this.#verifyOne(bill, verified);
  }

  async #verifyOne(bill: ModelBill, verified: boolean): Promise<void> {
    const { partner, station, month } = bill.row;
    const verdict = verified ? 'VERIFIED' : 'UNQUALIFIED';
    const { partnerBillId, acceptNo } = await this.#billOf(partner, station, month);
    const wish = { partnerBillId, acceptNo, partnerQueryStatus: verdict, reason: 'looked at' } as const;
    const refused = await verifyBills(this.#store, [wish], 'operator-1', this.#stages.wake).then(
      () => null,
      (error: unknown) => {
        if (error instanceof Problem) return error.code;
        throw error;
      },
    );
    if (refused === null) bill.verdict = verdict;
    else if (this.model.partners[partner]!.enabled)
      expect(refused).to.be.oneOf(['NO_DIFFERENCE', 'DIFFERENCE_BEHIND']);
    else expect(refused).to.be.oneOf(['NO_DIFFERENCE', 'PAYMENT_NOT_ENABLED']);
  }

  #billOf(partner: number, station: number, month: number) {
    return this.#store.one<{ partnerBillId: string; acceptNo: string }>(
      `SELECT b.id partnerBillId, b.accept_no acceptNo FROM fi_customer_bill_partner b
         JOIN fi_customer_account_partner a ON a.id = b.customer_account_id
        WHERE a.partner_org_id = ? AND a.partner_station_no = ? AND b.bill_year_month = ?`,
      [this.#orgId(partner), this.#mappings[partner]![station]!.partnerStationNo, MONTHS[month]!],
    );
  }

  /** Until nothing is under way; locks that stand keep standing. */
  async settle(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      await this.#timePasses();
      for (const partner of this.#partners.keys()) for (const stage of CHAIN) await this.turn(stage, partner);
      const { open } = await this.#store.one<{ open: string }>(
        `SELECT (SELECT COUNT(*) FROM fi_async_task WHERE claimable = 1 OR status = ${TaskStatus.RUNNING})
              + (SELECT COUNT(*) FROM income_diff_handover WHERE message_task_id = 0) open`,
      );
      if (Number(open) === 0) return;
    }
    throw new Error(`the chain does not come to rest in ${ROUNDS_MAX} rounds`);
  }

  /** At rest: bills, ledger, places and totals are the model's. */
  async compare(): Promise<void> {
    await this.#comparePlaces();
    expect(await this.#readBills(), 'bills and ledger').to.deep.equal(this.#expectedBills());
    expect(await this.#readAccounts(), 'accounts').to.deep.equal(this.#expectedAccounts());
  }

  async #comparePlaces(): Promise<void> {
    for (const [push, pushId] of this.#pushIds) {
      const rows = this.model.rows.filter((row) => row.push === push);
      const found = await this.#store.many<{ at: number; place: number; rent: string }>(
        `SELECT r.receipt_index at, w.place, w.rent FROM pushed_row r
           JOIN pushed_row_place w ON w.push_id = r.push_id AND w.row_no = r.row_no
          WHERE r.push_id = ? ORDER BY r.receipt_index`,
        [pushId],
      );
      expect(found.length, `rows of push ${push}`).to.equal(rows.length);
      const { placeName } = await import('../../src/domain/place.ts');
      for (const [at, row] of rows.entries())
        expect(placeName(found[at]!.place), `row ${at} of push ${push}`).to.be.oneOf([
          ...this.model.placesAtRest(row),
        ]);
      const sum = rows.reduce((total, row) => total + (row.flaw === 'bad rent' ? 0 : row.rent), 0);
      expect(cents(found.map((row) => row.rent)), `rents of push ${push}`).to.equal(sum);
    }
  }

  #expectedBills() {
    return [...this.model.bills].sort(byKey).map(([key, bill]) => ({
      key,
      rent: bill.row.rent,
      deduction: bill.row.deduction,
      freeze: bill.row.freeze,
      pushId: this.#pushIds.get(bill.row.push),
      verdict: bill.verdict,
      ledger: this.model.ledgerOf(bill),
    }));
  }

  async #readBills() {
    const rows = await this.#store.many<Record<string, string | null>>(
      `SELECT b.partner_org_id partnerOrgId, a.partner_station_no stationNo, b.bill_year_month month, b.rent, b.push_id pushId,
              b.deduction_amount deduction, b.freeze_amount freeze, COALESCE(b.partner_query_status, 'NOT_VERIFIED') verdict,
              b.payment_status billStatus, b.current_payable billPayable, d.id diffId, d.status, d.partner_rent partnerRent,
              d.diff_rent diffRent, d.diff_deduction diffDeduction, d.payment_status paymentStatus, d.current_payable payable
         FROM fi_customer_bill_partner b JOIN fi_customer_account_partner a ON a.id = b.customer_account_id
         LEFT JOIN fi_monthly_income_difference d ON d.partner_bill_id = b.id`,
    );
    const bills = rows.map((row) => {
      const ledger = {
        status: row.status,
        partnerRent: cent(row.partnerRent),
        diffRent: cent(row.diffRent),
        diffDeduction: cent(row.diffDeduction),
        paymentStatus: row.paymentStatus,
        payable: cent(row.payable),
      };
      if (row.diffId !== null)
        expect([row.billStatus, row.billPayable], 'bill and difference').to.deep.equal([
          row.paymentStatus,
          row.payable,
        ]);
      return {
        key: this.#keyOf(row.partnerOrgId!, row.stationNo!, row.month!),
        rent: cent(row.rent),
        deduction: cent(row.deduction),
        freeze: cent(row.freeze),
        pushId: row.pushId!,
        verdict: row.verdict!,
        ledger: row.diffId === null ? null : ledger,
      };
    });
    return bills.sort((left, right) => byKey([left.key], [right.key]));
  }

  #expectedAccounts() {
    const byAccount = Map.groupBy(this.model.bills.values(), ({ row }) => `${row.partner}/${row.station}`);
    return [...byAccount].sort(byKey).map(([key, bills]) => {
      const sum = (of: (row: Amounts) => number) => bills.reduce((total, { row }) => total + of(row), 0);
      const payable = bills.reduce(
        (total, bill) => total + Number(this.model.ledgerOf(bill)?.payable ?? 0),
        0,
      );
      const totals = { rent: sum((row) => row.rent), deduction: sum((row) => row.deduction) };
      return { key, bills: bills.length, ...totals, payable };
    });
  }

  async #readAccounts() {
    const rows = await this.#store.many<Record<string, string>>(
      `SELECT partner_org_id partnerOrgId, partner_station_no stationNo, bill_count bills, total_rent rent,
              total_deduction deduction, total_payable payable FROM fi_customer_account_partner`,
    );
    const accounts = rows.map((row) => ({
      key: this.#keyOf(row.partnerOrgId!, row.stationNo!),
      bills: Number(row.bills),
      rent: cent(row.rent!),
      deduction: cent(row.deduction!),
      payable: cent(row.payable!),
    }));
    return accounts.sort((left, right) => byKey([left.key], [right.key]));
  }

  #keyOf(partnerOrgId: string, stationNo: string, month?: string): string {
    const partner = this.#partners.findIndex((one) => one.partnerOrgId === partnerOrgId);
    const station = this.#mappings[partner]!.findIndex((one) => one.partnerStationNo === stationNo);
    return [partner, station, ...(month === undefined ? [] : [MONTHS.indexOf(month)])].join('/');
  }

  #orgId(partner: number): string {
    return this.#partners[partner]!.partnerOrgId;
  }
}

interface Receipt {
  readonly receipt: string;
  readonly reason?: string;
}

function columnsOf({ rent, deduction, freeze }: Amounts) {
  return { rent: money(rent), deduction_amount: money(deduction), freeze_amount: money(freeze) };
}

function money(centsOfIt: number): string {
  return `${Math.trunc(centsOfIt / 100)}.${String(centsOfIt % 100).padStart(2, '0')}`;
}

/** Of a decimal text, exactly. */
function cent(text: string | null | undefined): number {
  return Math.round(Number(text ?? '0') * 100);
}

function cents(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + cent(text), 0);
}

function byKey([left]: readonly [string, ...unknown[]], [right]: readonly [string, ...unknown[]]): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
