import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';

/** Pushed rows that are in no place, or whose money is another there than was pushed (COV-2). */
export function listRowsNotConserved(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['r.push_id', 'r.row_no'], range);
  return reader.many<FoundRow>(
    `SELECT CONCAT(r.push_id, '/', r.row_no) targetId, ${TOTAL}, r.push_id pushId, r.row_no rowNo, r.accepted,
            r.partner_station_no partnerStationNo, r.bill_year_month billYearMonth, r.rent pushedRent, w.place,
            w.rent rentInPlace
       FROM pushed_row r
       LEFT JOIN pushed_row_place w ON w.push_id = r.push_id AND w.row_no = r.row_no
      WHERE ${where.sql} AND (w.push_id IS NULL OR (r.accepted = 1 AND w.rent <> r.rent))
      ORDER BY r.push_id, r.row_no ${SHOWN}`,
    where.values,
  );
}
