//! The page's side of `www/editor/editor.js`, and a component around it.

use std::rc::Rc;

use serde::Serialize;
use warpscope_engine::message::{Diagnostic, Language, Position};
use wasm_bindgen::prelude::*;
use web_sys::HtmlElement;
use yew::{Callback, Html, Properties, component, html, use_effect_with, use_mut_ref, use_node_ref};

#[wasm_bindgen(raw_module = "./editor.js")]
extern "C" {
    /// Loads what editing takes; until then texts can be read. A second call does nothing, unless the first one failed.
    pub fn wake();

    /// One editor.
    #[wasm_bindgen(js_name = Editor)]
    type Handle;

    #[wasm_bindgen(constructor, js_class = "Editor")]
    fn new(
        parent: &HtmlElement,
        text: &str,
        label: &str,
        hint: &str,
        on_change: &Closure<dyn FnMut(String)>,
        on_line: &Closure<dyn FnMut(usize)>,
    ) -> Handle;
    #[wasm_bindgen(method, js_name = setText)]
    fn set_text(this: &Handle, text: &str);
    #[wasm_bindgen(method, js_name = setLanguage)]
    fn set_language(this: &Handle, name: &str);
    #[wasm_bindgen(method, js_name = setDiagnostics)]
    fn set_diagnostics(this: &Handle, diagnostics: JsValue);
    #[wasm_bindgen(method, js_name = markLines)]
    fn mark_lines(this: &Handle, lines: Vec<u32>, exact: u32, show: bool);
    #[wasm_bindgen(method, js_name = markCurrent)]
    fn mark_current(this: &Handle, lines: Vec<u32>, show: bool);
    #[wasm_bindgen(method, js_name = markLane)]
    fn mark_lane(this: &Handle, line: u32);
    #[wasm_bindgen(method)]
    fn paint(this: &Handle, lines: JsValue);
    #[wasm_bindgen(method, js_name = setHeat)]
    fn set_heat(this: &Handle, lines: JsValue);
    #[wasm_bindgen(method, js_name = goTo)]
    fn go_to(this: &Handle, offset: usize);
    #[wasm_bindgen(method)]
    fn refresh(this: &Handle);
    #[wasm_bindgen(method)]
    fn destroy(this: &Handle);
}

/// The heat of a line: how often it ran, relative to the hottest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LineLevel {
    /// The line, from 1.
    pub line: usize,
    /// 0 to 1.
    pub level: f64,
    /// Label beside the line.
    pub label: String,
}

/// Predicted change of a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PaintedLine {
    /// The line, from 1.
    pub line: usize,
    /// The class of its looks.
    pub look: &'static str,
}

/// A mistake as the editor marks it.
#[derive(Serialize)]
struct Mark<'a> {
    from: usize,
    to: usize,
    severity: &'static str,
    message: String,
    source: &'a str,
}

/// Properties of an editor.
#[derive(Properties, PartialEq)]
pub struct Props {
    /// Label for screen readers.
    pub label: AttrLabel,
    /// Hint that it shows while empty.
    pub hint: AttrLabel,
    /// Its text; taken over when `version` changes, otherwise the person's typing leads.
    pub text: String,
    /// See `text`.
    pub version: u32,
    /// Language of the text.
    pub language: Language,
    /// Its mistakes.
    pub diagnostics: Vec<Diagnostic>,
    /// Lines of the selected block, from 1.
    #[prop_or_default]
    pub marked: Vec<u32>,
    /// The selected one of them; 0 if none is.
    #[prop_or_default]
    pub exact: u32,
    /// Whether to scroll to them.
    #[prop_or_default]
    pub show_marked: bool,
    /// Lines that the current change is about, from 1.
    #[prop_or_default]
    pub current: Vec<u32>,
    /// Position of that change, once there is one: a step to another scrolls to it.
    #[prop_or_default]
    pub position: Option<Position>,
    /// The line that the followed warp runs next, from 1; 0 if there is none.
    #[prop_or_default]
    pub lane: u32,
    /// Predicted changes of lines.
    #[prop_or_default]
    pub painted: Vec<PaintedLine>,
    /// How often lines ran.
    #[prop_or_default]
    pub heat: Rc<Vec<LineLevel>>,
    /// Whether it is on another tab.
    pub hidden: bool,
    /// Cursor position to jump to, and a number that changes with every request.
    #[prop_or_default]
    pub jump: Option<(usize, u32)>,
    /// A person changed the text.
    pub on_change: Callback<String>,
    /// A person moved to another line.
    pub on_line: Callback<usize>,
}

/// A fixed text.
pub type AttrLabel = &'static str;

/// The handle together with the closures that it calls.
struct Mounted {
    handle: Handle,
    _on_change: Closure<dyn FnMut(String)>,
    _on_line: Closure<dyn FnMut(usize)>,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.handle.destroy();
    }
}

/// An editor in a box of its own.
#[component]
pub fn EditorBox(props: &Props) -> Html {
    let place = use_node_ref();
    let mounted = use_mut_ref(|| None::<Mounted>);
    // The editor keeps the first callbacks for its life; these cells lead to the current ones.
    let callbacks = use_mut_ref(|| (props.on_change.clone(), props.on_line.clone()));
    *callbacks.borrow_mut() = (props.on_change.clone(), props.on_line.clone());
    {
        let (place, mounted) = (place.clone(), mounted.clone());
        let (text, label, hint) = (props.text.clone(), props.label, props.hint);
        use_effect_with((), move |()| {
            if let Some(parent) = place.cast::<HtmlElement>() {
                let change = callbacks.clone();
                let on_change = Closure::<dyn FnMut(String)>::new(move |text| {
                    let callback = change.borrow().0.clone();
                    callback.emit(text);
                });
                let on_line = Closure::<dyn FnMut(usize)>::new(move |line| {
                    let callback = callbacks.borrow().1.clone();
                    callback.emit(line);
                });
                let handle = Handle::new(&parent, &text, label, hint, &on_change, &on_line);
                *mounted.borrow_mut() = Some(Mounted { handle, _on_change: on_change, _on_line: on_line });
            }
            move || drop(mounted.borrow_mut().take())
        });
    }
    let tell = move |action: &dyn Fn(&Handle)| {
        if let Some(mounted) = mounted.borrow().as_ref() {
            action(&mounted.handle);
        }
    };
    {
        let (tell, text) = (tell.clone(), props.text.clone());
        use_effect_with(props.version, move |_| tell(&|editor| editor.set_text(&text)));
    }
    {
        let tell = tell.clone();
        use_effect_with(props.language, move |&language| {
            tell(&|editor| editor.set_language(if language == Language::Ptx { "ptx" } else { "wir" }));
        });
    }
    {
        let tell = tell.clone();
        use_effect_with(props.diagnostics.clone(), move |diagnostics| {
            let marks: Vec<Mark> = diagnostics.iter().map(mark).collect();
            let marks = serde_wasm_bindgen::to_value(&marks).unwrap_or_else(|_| js_sys::Array::new().into());
            tell(&|editor| editor.set_diagnostics(marks.clone()));
        });
    }
    {
        let tell = tell.clone();
        use_effect_with((props.marked.clone(), props.exact, props.show_marked), move |(lines, exact, show)| {
            tell(&|editor| editor.mark_lines(lines.clone(), *exact, *show));
        });
    }
    {
        let (tell, last) = (tell.clone(), use_mut_ref(|| props.position));
        use_effect_with((props.current.clone(), props.position), move |(lines, position)| {
            let before = last.replace(*position);
            let is_step = before.is_some() && before != *position;
            tell(&|editor| editor.mark_current(lines.clone(), is_step));
        });
    }
    {
        let tell = tell.clone();
        use_effect_with(props.lane, move |&line| tell(&|editor| editor.mark_lane(line)));
    }
    {
        let tell = tell.clone();
        use_effect_with(props.painted.clone(), move |lines| {
            let lines = serde_wasm_bindgen::to_value(lines).unwrap_or_else(|_| js_sys::Array::new().into());
            tell(&|editor| editor.paint(lines.clone()));
        });
    }
    {
        let tell = tell.clone();
        use_effect_with(props.heat.clone(), move |heat| {
            let lines = serde_wasm_bindgen::to_value(&**heat).unwrap_or_else(|_| js_sys::Array::new().into());
            tell(&|editor| editor.set_heat(lines.clone()));
        });
    }
    {
        let tell = tell.clone();
        use_effect_with(props.jump, move |jump| {
            if let Some((offset, _)) = *jump {
                tell(&|editor| editor.go_to(offset));
            }
        });
    }
    use_effect_with(props.hidden, move |_| tell(&Handle::refresh));
    html! { <div ref={place} class="editor" hidden={props.hidden} /> }
}

fn mark(diagnostic: &Diagnostic) -> Mark<'_> {
    let hint = if diagnostic.hint.is_empty() { String::new() } else { format!("\n{}", diagnostic.hint) };
    Mark {
        from: diagnostic.from,
        to: diagnostic.to,
        severity: if diagnostic.is_warning { "warning" } else { "error" },
        message: format!("{}{hint}", diagnostic.message),
        source: &diagnostic.code,
    }
}
