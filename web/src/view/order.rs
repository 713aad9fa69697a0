//! Facts of a remark in which order means something: the leaves of a tree before and after sorting, and the registers
//! that a value goes through.

use warpscope_engine::message::Remark;
use yew::{Html, html};

/// Leaves that are drawn with a line from place to place.
const MOST_COLUMNS: usize = 10;

/// The facts that [`ordered_facts`] draws.
pub const DRAWN: [&str; 4] = ["before", "ranks", "after", "chain"];

/// Draws the facts of a remark that are an order.
pub fn ordered_facts(remark: &Remark) -> Html {
    let words = |wanted: &str| {
        let found = remark.facts.iter().find(|fact| fact.name == wanted);
        found.map(|fact| fact.values.as_slice())
    };
    match (words("before"), words("ranks"), words("after"), words("chain")) {
        (Some(before), ranks, Some(after), _) => leaves(before, ranks.unwrap_or(&[]), after),
        (.., Some(chain)) => links(chain),
        _ => Html::default(),
    }
}

/// Destination of each leaf. A constant that was folded went into the last one.
fn destinations(before: &[String], ranks: &[String], after: &[String]) -> Vec<Option<usize>> {
    let mut taken = vec![false; after.len()];
    let mut places: Vec<Option<usize>> = before
        .iter()
        .map(|leaf| {
            let place = (0..after.len()).find(|&place| !taken[place] && after[place] == *leaf)?;
            taken[place] = true;
            Some(place)
        })
        .collect();
    // What no leaf went to whole is the constant that several make.
    if let Some(folded) = taken.iter().position(|taken| !taken) {
        for (place, rank) in places.iter_mut().zip(ranks) {
            if place.is_none() && rank == "constant" {
                *place = Some(folded);
            }
        }
    }
    places
}

/// The leaves before and after, each a row, with a line from where a leaf was to where it is.
fn leaves(before: &[String], ranks: &[String], after: &[String]) -> Html {
    let columns = before.len().max(after.len());
    let row = |name: &'static str, leaves: &[String], ranks: Option<&[String]>| {
        html! {
            <>
                <dt>{ name }</dt>
                <dd>
                    <ol>
                        { for leaves.iter().enumerate().map(|(index, leaf)| html! {
                            <li>
                                <code>{ leaf }</code>
                                if let Some(rank) = ranks.and_then(|ranks| ranks.get(index)) { <small>{ rank }</small> }
                            </li>
                        }) }
                    </ol>
                </dd>
            </>
        }
    };
    let is_drawn = columns <= MOST_COLUMNS;
    html! {
        <dl class={if is_drawn { "leaves" } else { "leaves many" }} style={format!("--columns:{columns}")} data-testid="leaves">
            { row("before", before, Some(ranks)) }
            if is_drawn {
                <svg class="moves" viewBox={format!("0 0 {columns} 1")} preserveAspectRatio="none" aria-hidden="true">
                    { for destinations(before, ranks, after).into_iter().enumerate().filter_map(|(from, to)| {
                        let to = to?;
                        let class = if from == to { "stays" } else { "moved" };
                        Some(html! {
                            <line {class} x1={(from as f64 + 0.5).to_string()} y1="0" x2={(to as f64 + 0.5).to_string()} y2="1"
                                vector-effect="non-scaling-stroke" />
                        })
                    }) }
                </svg>
            }
            { row("sorted", after, None) }
        </dl>
    }
}

/// The registers that a value went through, to the one that it is now written to at once.
fn links(chain: &[String]) -> Html {
    let last = chain.len().saturating_sub(1);
    html! {
        <dl class="chain" data-testid="chain">
            <dt>{ "chain" }</dt>
            <dd>
                { for chain.iter().enumerate().map(|(index, name)| html! {
                    <>
                        if index > 0 { <span aria-hidden="true" class="to">{ "→" }</span> }
                        <code class={if index == last { "stays" } else { "goes" }}>{ name }</code>
                    </>
                }) }
            </dd>
        </dl>
    }
}

#[cfg(test)]
mod tests {
    use super::destinations;

    fn words(words: &str) -> Vec<String> {
        words.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn every_leaf_goes_somewhere_once() {
        let places = destinations(&words("c a a"), &words("v3 v1 v1"), &words("a a c"));
        assert_eq!(places, [Some(2), Some(0), Some(1)]);
    }

    #[test]
    fn folded_constants_go_into_one() {
        let places = destinations(&words("2 b 3 a"), &words("constant v2 constant v1"), &words("a b 5"));
        assert_eq!(places, [Some(2), Some(1), Some(2), Some(0)]);
        // Nothing is left of them where they change nothing.
        assert_eq!(destinations(&words("0 a"), &words("constant v1"), &words("a")), [None, Some(0)]);
    }
}
