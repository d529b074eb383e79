/** A button that only operators can use; others see its effect. */
import type { ComponentChildren } from 'preact';
import { may } from './may.ts';

interface OperatorButtonProps {
  readonly act: () => void;
  readonly isBusy?: boolean;
  /** If its text does not name its object. */
  readonly label?: string;
  readonly children: ComponentChildren;
}

export function OperatorButton({ act, isBusy = false, label, children }: OperatorButtonProps) {
  const { mayChange } = may();
  return (
    <button
      type="button"
      disabled={!mayChange || isBusy}
      title={mayChange ? undefined : 'for operators'}
      aria-label={label}
      onClick={act}
    >
      {children}
    </button>
  );
}
