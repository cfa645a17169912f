import type { ListPage } from "../../quality/quality-data.js";
import { change } from "../address.js";
import { count } from "../formats.js";
import { qualityText } from "./quality-texts.js";

export function Pager({ list: { page, pages, rows, total } }: { readonly list: ListPage<unknown> }) {
  const go = (to: number): void => change({ page: to === 1 ? undefined : String(to), finding: undefined });
  return (
    <p class="pager">
      {pages > 1 && (
        <button
          type="button"
          disabled={page <= 1}
          aria-label={qualityText("earlierPage")}
          onClick={() => go(page - 1)}
        >
          ←
        </button>
      )}{" "}
      <span class="quiet">
        {pages > 1 && `${qualityText("page")} ${page} ${qualityText("of")} ${pages} · `}
        {count(total)} {qualityText("inAll")}
        {page === pages && total > pages * Math.max(rows.length, 1) && ` · ${qualityText("narrower")}`}
      </span>{" "}
      {pages > 1 && (
        <button
          type="button"
          disabled={page >= pages}
          aria-label={qualityText("laterPage")}
          onClick={() => go(page + 1)}
        >
          →
        </button>
      )}
    </p>
  );
}
