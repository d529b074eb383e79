/** A button that only operators can use; others see what it would do. */
import type { ComponentChildren } from 'preact';
import { may } from './may.ts';

interface OperatorButtonProps {
  readonly act: () => void;
  readonly isBusy?: boolean;
  /** If its text does not say what it acts on. */
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
