/** The demo's last scene: every rule of inspection looks at what the story left behind (INV-1). */
import { PLANE } from './payment-plane.ts';
import type { Telling } from './telling.ts';

interface InspectionReply {
  readonly verdict: string;
  readonly results: readonly {
    readonly code: string;
    readonly outcome: string;
    readonly findingCount: number;
    readonly rule: { readonly title: string };
  }[];
}

/** @returns what was found, a sentence for each rule */
export async function tellInspection({ world, say }: Telling): Promise<string[]> {
  const { verdict, results } = await world.admin.post<InspectionReply>(`${PLANE}/inspections`);
  say(`\nInspection (what \`rooftally verify\` looks at): ${results.length} rules, ${verdict}.`);
  return results
    .filter(({ outcome }) => outcome !== 'OK')
    .map(({ code, outcome, findingCount, rule }) => {
      const found = outcome === 'BROKEN' ? 'could not look' : `${findingCount} found`;
      return `inspection, ${code} (${rule.title}): ${found}`;
    });
}
