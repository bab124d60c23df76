import { Place } from '../../domain/place.ts';
import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';

const REFUSED = `place IN (${Place.INVALID}, ${Place.LOCKED})`;

/**
 * Pushes whose rows and money, as the reply told them, are not what their rows' places add up to; of a push whose rows were
 * removed, what was kept of them (RET-1).
 */
export function listPushesOff(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const pushes = inRange(['p.push_id'], range);
  const places = inRange(['w.push_id'], range);
  return reader.many<FoundRow>(
    `SELECT p.push_id targetId, ${TOTAL}, p.partner_org_id partnerOrgId, p.requested_count requestedRows,
            COALESCE(w.requested, 0) rowsInPlaces, p.requested_amount requestedAmount, COALESCE(w.amount, 0) amountInPlaces,
            p.accepted_count acceptedRows, COALESCE(w.requested - w.refused, 0) acceptedRowsInPlaces,
            p.accepted_amount acceptedAmount, COALESCE(w.amount - w.refused_amount, 0) acceptedAmountInPlaces
       FROM partner_push p
       LEFT JOIN (SELECT w.push_id, COUNT(*) requested, SUM(rent) amount, SUM(${REFUSED}) refused,
                         SUM(IF(${REFUSED}, rent, 0)) refused_amount
                    FROM pushed_row_place w JOIN partner_push standing
                      ON standing.push_id = w.push_id AND standing.retired_at IS NULL
                   WHERE ${places.sql} GROUP BY w.push_id
                   UNION ALL
                  SELECT w.push_id, SUM(held) requested, SUM(amount) amount, SUM(IF(${REFUSED}, held, 0)) refused,
                         SUM(IF(${REFUSED}, amount, 0)) refused_amount
                    FROM partner_push w
                    JOIN JSON_TABLE(w.kept_coverage, '$.groups[*]' COLUMNS (place TINYINT PATH '$.place',
                           held INT PATH '$.rows', amount DECIMAL(30,2) PATH '$.amount')) kept
                   WHERE ${places.sql} AND w.retired_at IS NOT NULL GROUP BY w.push_id) w ON w.push_id = p.push_id
      WHERE ${pushes.sql}
        AND (p.requested_count <> COALESCE(w.requested, 0) OR p.requested_amount <> COALESCE(w.amount, 0)
             OR p.refused_count <> COALESCE(w.refused, 0) OR p.refused_amount <> COALESCE(w.refused_amount, 0)
             OR p.accepted_count <> COALESCE(w.requested - w.refused, 0)
             OR p.accepted_amount <> COALESCE(w.amount - w.refused_amount, 0))
      ORDER BY p.push_id ${SHOWN}`,
    [...places.values, ...places.values, ...pushes.values],
  );
}
