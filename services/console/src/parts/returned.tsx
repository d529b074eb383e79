/** Says that the gateway did not answer for a while and answers again, and whether it was started again meanwhile. */
import type { Overview } from '@omnibus/admin-api';
import { useEffect, useRef, useState } from 'preact/hooks';
import { needsSignIn } from '../api/ask.ts';
import type { Live } from '../api/live.ts';
import { duration } from '../words.ts';
import { State } from './state.tsx';

interface Return {
  /** Milliseconds without an answer. */
  readonly ms: number;
  readonly isAnew: boolean;
  readonly isOtherVersion: boolean;
}

export function Returned({ overview: { value, problem } }: { readonly overview: Live<Overview> }) {
  const [returned, setReturned] = useState<Return>();
  const lostAt = useRef<number | undefined>(undefined);
  const before = useRef<Overview | undefined>(undefined);
  useEffect(() => {
    if (problem !== undefined) {
      if (before.current !== undefined && !needsSignIn.value) lostAt.current ??= Date.now();
      return;
    }
    if (lostAt.current !== undefined && value !== undefined)
      setReturned({
        ms: Date.now() - lostAt.current,
        isAnew: value.process !== before.current?.process,
        isOtherVersion: value.version !== before.current?.version,
      });
    lostAt.current = undefined;
    before.current = value;
  }, [value, problem]);
  return (
    <div role="status">
      {returned !== undefined && problem === undefined && (
        <p class="returned">
          <State tone="good" shape="●" word="The gateway answers again" />, after {duration(returned.ms)} without an
          answer.
          {returned.isAnew && ' It was started anew: what ran before has ended.'}
          {returned.isOtherVersion && ' It is another version now: load the page again.'}{' '}
          <button type="button" class="small" onClick={() => setReturned(undefined)}>
            Dismiss
          </button>
        </p>
      )}
    </div>
  );
}
