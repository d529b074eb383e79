/** The client of a try: its revision, and its capabilities for questions. */
import { legacyRevisions, modernRevisions } from '@omnibus/protocol/revisions';

const revisions: readonly string[] = [...legacyRevisions, ...modernRevisions];
const askable = ['forms', 'links', 'sampling', 'roots'] as const;

export interface TryClient {
  readonly revision: string;
  readonly may: readonly string[];
}

export const firstClient: TryClient = { revision: revisions[0] as string, may: askable };

export function AsClient({
  client: { revision, may },
  set,
}: {
  readonly client: TryClient;
  readonly set: (client: TryClient) => void;
}) {
  return (
    <details>
      <summary>
        As a client of {revision}, which may be asked: {may.length === 0 ? 'nothing' : may.join(', ')}
      </summary>
      <div class="filters">
        <label>
          Revision{' '}
          <select value={revision} onChange={(event) => set({ revision: event.currentTarget.value, may })}>
            {revisions.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
        {askable.map((what) => (
          <label key={what}>
            <input
              type="checkbox"
              checked={may.includes(what)}
              onChange={() =>
                set({ revision, may: may.includes(what) ? may.filter((each) => each !== what) : [...may, what] })
              }
            />{' '}
            {what}
          </label>
        ))}
      </div>
    </details>
  );
}
