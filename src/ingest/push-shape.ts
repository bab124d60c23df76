/**
 * Where in a push the tokens of its JSON are, and what they make: bills, stations, control totals. Only the object at
 * hand is kept.
 */
import type { Token } from 'stream-json/parser.js';
import { JsonNumber, NestedValue, type RawValue, RepeatedValue } from '../domain/raw-value.ts';
import { pointerTo } from '../domain/refusal.ts';
import { Problem } from '../http/problem.ts';
import type { PointerScheme, SourceEvent } from './station-source.ts';

/** An object of a push has some twenty fields; one with more than this is no bill and no station. */
const FIELDS_MAX = 200;

type Level = 'document' | 'push' | 'stations' | 'station' | 'bills' | 'bill' | 'skipped';

/** One instance reads one body: a whole push from `document`, or stations one after the other from `stations`. */
export class PushShape {
  readonly #pointers: PointerScheme;
  #level: Level;
  /** The level to go back to when a nested value that nobody wants has ended, and how deep in it we are. */
  #resume: Level = 'document';
  #skipDepth = 0;
  #key = '';
  #station = new Map<string, RawValue>();
  #bill = new Map<string, RawValue>();
  #topNames = new Set<string>();
  #stationStep = 0;
  #billCount = 0;
  #hasBills = false;
  #events: SourceEvent[] = [];

  constructor(pointers: PointerScheme, from: 'document' | 'stations') {
    this.#pointers = pointers;
    this.#level = from;
  }

  /** @param step what the next station is pointed at by, where it is not simply the next one */
  startAt(step: number): void {
    this.#stationStep = step;
  }

  take(tokens: readonly Token[]): readonly SourceEvent[] {
    this.#events = [];
    for (const token of tokens) this.#step(token);
    return this.#events;
  }

  /** @throws Problem where the body was JSON without stations */
  assertStations(): void {
    if (!this.#topNames.has('stations')) {
      throw malformed(
        '',
        'it has no "stations"; send {"stations":[…]}, with an empty array if there are none',
      );
    }
  }

  #step(token: Token): void {
    switch (token.name) {
      case 'keyValue':
        this.#key = token.value;
        return;
      case 'startObject':
      case 'startArray':
        this.#open(token.name === 'startObject' ? 'object' : 'array');
        return;
      case 'endObject':
      case 'endArray':
        this.#close();
        return;
      default:
        this.#value(scalar(token));
        return;
    }
  }

  #open(kind: 'object' | 'array'): void {
    switch (this.#level) {
      case 'skipped':
        this.#skipDepth += 1;
        return;
      case 'document':
        if (kind !== 'object') throw malformed('', 'it is an array; send an object with "stations"');
        this.#level = 'push';
        return;
      case 'push':
        if (this.#key === 'stations') this.#openStations(kind);
        else this.#skip(kind);
        return;
      case 'stations':
        if (kind !== 'object')
          throw malformed(this.#stationPointer(), 'it is an array; send a station as an object');
        this.#openStation();
        return;
      case 'station':
        if (this.#key === 'bills') this.#openBills(kind);
        else this.#skip(kind);
        return;
      case 'bills':
        if (kind === 'object') this.#openBill();
        else this.#skip(kind);
        return;
      case 'bill':
        this.#skip(kind);
        return;
    }
  }

  #openStations(kind: 'object' | 'array'): void {
    if (kind !== 'array') throw malformed('/stations', 'it is an object; send an array of stations');
    if (this.#topNames.has('stations')) throw malformed('/stations', 'the body names it twice');
    this.#topNames.add('stations');
    this.#level = 'stations';
  }

  #openStation(): void {
    this.#level = 'station';
    this.#station = new Map();
    this.#hasBills = false;
    this.#billCount = 0;
  }

  #openBill(): void {
    this.#level = 'bill';
    this.#bill = new Map();
  }

  #openBills(kind: 'object' | 'array'): void {
    const pointer = pointerTo(this.#stationPointer(), 'bills');
    if (kind !== 'array') throw malformed(pointer, 'it is an object; send an array of bills');
    if (this.#hasBills) throw malformed(pointer, 'the station names it twice');
    this.#hasBills = true;
    this.#level = 'bills';
  }

  #skip(kind: 'object' | 'array'): void {
    this.#value(new NestedValue(kind));
    this.#resume = this.#level;
    this.#level = 'skipped';
    this.#skipDepth = 1;
  }

  #close(): void {
    switch (this.#level) {
      case 'skipped':
        this.#skipDepth -= 1;
        if (this.#skipDepth === 0) this.#level = this.#resume;
        return;
      case 'bill':
        this.#emitBill(this.#bill);
        this.#level = 'bills';
        return;
      case 'bills':
        this.#level = 'station';
        return;
      case 'station':
        this.#closeStation();
        return;
      case 'stations':
        this.#level = 'push';
        return;
      default:
        this.#level = 'document';
    }
  }

  #closeStation(): void {
    if (!this.#hasBills) {
      throw malformed(this.#stationPointer(), 'the station has no "bills"; send an array of bills');
    }
    this.#events.push({ kind: 'station', fields: this.#station, step: this.#stationStep });
    this.#stationStep += 1;
    this.#level = 'stations';
  }

  #value(value: RawValue): void {
    switch (this.#level) {
      case 'skipped':
        return;
      case 'document':
        throw malformed('', 'it is a single value; send an object with "stations"');
      case 'push':
        this.#topValue(value);
        return;
      case 'stations':
        throw malformed(this.#stationPointer(), 'it is a single value; send a station as an object');
      case 'station':
        if (this.#key === 'bills') {
          throw malformed(
            pointerTo(this.#stationPointer(), 'bills'),
            'it is a single value; send an array of bills',
          );
        }
        this.#keep(this.#station, value);
        return;
      case 'bills':
        this.#emitBill(null);
        return;
      case 'bill':
        this.#keep(this.#bill, value);
        return;
    }
  }

  #topValue(value: RawValue): void {
    if (this.#key === 'stations')
      throw malformed('/stations', 'it is a single value; send an array of stations');
    const repeated = this.#topNames.has(this.#key);
    if (this.#topNames.size >= FIELDS_MAX) throw malformed('', `it has over ${FIELDS_MAX} fields`);
    this.#topNames.add(this.#key);
    this.#events.push({ kind: 'top', name: this.#key, value: repeated ? new RepeatedValue() : value });
  }

  #keep(fields: Map<string, RawValue>, value: RawValue): void {
    if (fields.has(this.#key)) value = new RepeatedValue();
    if (fields.size >= FIELDS_MAX)
      throw malformed(this.#stationPointer(), `an object has over ${FIELDS_MAX} fields`);
    fields.set(this.#key, value);
  }

  #emitBill(fields: Map<string, RawValue> | null): void {
    this.#events.push({ kind: 'bill', fields, stationStep: this.#stationStep, step: this.#billCount });
    this.#billCount += 1;
  }

  #stationPointer(): string {
    return this.#pointers.station(this.#stationStep);
  }
}

function scalar(token: Token): RawValue {
  switch (token.name) {
    case 'stringValue':
      return token.value;
    case 'numberValue':
      return new JsonNumber(token.value);
    case 'trueValue':
      return true;
    case 'falseValue':
      return false;
    default:
      return null;
  }
}

function malformed(pointer: string, why: string): Problem {
  const where = pointer === '' ? 'the body' : pointer;
  return new Problem(400, 'MALFORMED_BODY', `Correct ${where}: ${why}.`, { members: { pointer } });
}
