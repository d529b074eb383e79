/** One act on a row of a list, which its user has to confirm. */
import { useState } from 'preact/hooks';

export interface Choosing<Row> {
  /** The row of the open dialog. */
  readonly chosen: Row | undefined;
  readonly choose: (row: Row) => void;
  /** Closes the dialog. @param done the message about the act. */
  readonly close: (done?: string) => void;
  /** The message about the last act; empty before the first. */
  readonly said: string;
}

export function useChosen<Row extends object>(): Choosing<Row> {
  const [chosen, setChosen] = useState<Row>();
  const [said, setSaid] = useState('');
  const close = (done?: string): void => {
    setChosen(undefined);
    if (done !== undefined) setSaid(done);
  };
  return { chosen, choose: setChosen, close, said };
}
