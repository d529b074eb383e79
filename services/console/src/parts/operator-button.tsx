/** A button that only users with a right can use; others see its effect. */
import type { Overview } from '@omnibus/admin-api';
import type { ComponentChildren } from 'preact';
import { may } from './may.ts';

/** Rights that an act may need, with the users that have it. */
const whom = {
  mayChange: 'operators',
  mayBlock: 'operators',
  mayPrograms: 'operators',
  mayAgents: 'administrators',
  mayKeys: 'administrators',
} satisfies Partial<Record<keyof Overview['console'], string>>;

interface OperatorButtonProps {
  readonly act: () => void;
  readonly needs?: keyof typeof whom;
  readonly isBusy?: boolean;
  /** If its text does not name its object. */
  readonly label?: string;
  readonly children: ComponentChildren;
}

export function OperatorButton({ act, needs = 'mayChange', isBusy = false, label, children }: OperatorButtonProps) {
  const isAllowed = may()[needs];
  return (
    <button
      type="button"
      disabled={!isAllowed || isBusy}
      title={isAllowed ? undefined : `for ${whom[needs]}`}
      aria-label={label}
      onClick={act}
    >
      {children}
    </button>
  );
}
