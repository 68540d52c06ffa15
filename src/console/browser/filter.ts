import type { FilterData } from '../../core/catalog/page-data.js';
import type { Clause } from '../../core/features/filter-clauses.js';
import { FilterForm } from './filter/form.js';
import { onThisOrigin, pageData } from './page.js';
import { loadPart } from './part.js';

/** The filter of a collection's page, and its statistics, whose bars become conditions of the filter. */

const place = document.querySelector<HTMLElement>('[data-filter-builder]');
if (place) {
  place.hidden = false;
  const data = pageData<FilterData>('filter-data');
  const form = new FilterForm(place.querySelector('form')!, data);
  connectStatistics(data, (clause) => form.add(clause));
}

function connectStatistics({ baseUrl }: FilterData, choose: (clause: Clause) => void): void {
  const link = document.querySelector<HTMLAnchorElement>('[data-statistics-link]');
  const target = link?.closest<HTMLElement>('[data-statistics-place]');
  if (!link || !target) return;
  link.setAttribute('role', 'button');
  link.addEventListener('keydown', (event) => {
    if (event.key === ' ') {
      event.preventDefault();
      link.click();
    }
  });
  link.addEventListener('click', async (event) => {
    event.preventDefault();
    link.hidden = true;
    const part = await loadPart(target, onThisOrigin(link.href, baseUrl), 'statistics');
    link.hidden = part !== undefined;
    part?.addEventListener('click', (click) => chooseBar(click, choose));
  });
}

function chooseBar(event: MouseEvent, choose: (clause: Clause) => void): void {
  const bar = (event.target as Element).closest<HTMLElement | SVGElement>('[data-clause]');
  if (!bar || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  choose(JSON.parse(bar.dataset.clause!) as Clause);
}
