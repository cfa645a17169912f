import type { ComponentChildren } from "preact";
import { go } from "./address.js";

/** A link to a view, which does not load the page again. With a modifier key it behaves as any other link. */
export function Link({
  to,
  children,
  ...others
}: {
  readonly to: string;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly title?: string;
  readonly "aria-current"?: "page" | undefined;
  readonly "aria-label"?: string;
}) {
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={to} onClick={follow} {...others}>
      {children}
    </a>
  );
}
